"""The outcome of a run as the JSON object other programs read; see DESIGN section 6 for the contract."""

from datetime import UTC, datetime
from typing import Any

import store
from agent.archive import RunSummary
from agent.views.conversation import Conversation
from agent.views.result import AgentResult
from assistant.answer_check.claims import check_claims
from assistant.answer_check.evidence import Evidence, grounding_mark
from assistant.answer_check.stale_marks import stale_json
from assistant.shop_tools import ShopTools


def cart_json(cart: store.CartView) -> dict[str, Any]:
    """A cart in the shape of the contract; money is decimal text."""
    lines = [
        {
            "book_id": line.book_id,
            "title": line.title,
            "quantity": line.quantity,
            "price": store.decimal_text(line.price_cents),
            "line_total": store.decimal_text(line.line_total_cents),
        }
        for line in cart.lines
    ]
    return {"lines": lines, "total": store.decimal_text(cart.total_cents), "version": cart.version}


def result_json(
    result: AgentResult, conversation: Conversation, toolbox: ShopTools, cart: store.CartView
) -> dict[str, Any]:
    """A run in the shape of the contract; unknown sums are null."""
    usage, reading = result.usage, Evidence(conversation.events).read(result.answer)
    claims = check_claims(reading, toolbox.engine, toolbox.customer)
    known = usage.input_tokens is not None and usage.output_tokens is not None
    warnings = [text for event in result.trace if event.kind == "model_reply" for text in event.warnings]
    warnings += [mark] if (mark := grounding_mark(reading, conversation.events[-1])) else []
    return {
        "run_id": result.run_id,
        "session_id": conversation.handle,
        "stop_reason": result.stop_reason,
        "answer": result.answer,
        "steps": result.steps,
        "model_calls": result.model_calls,
        "tool_calls": result.tool_calls,
        "usage": {
            "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens,
            "total_tokens": (usage.input_tokens or 0) + (usage.output_tokens or 0) if known else None,
            "complete": result.usage_complete,
            "estimated": usage.estimated,
        },
        "cost_usd": None if result.cost is None else str(result.cost),
        "seconds": result.seconds,
        "cart": cart_json(cart),
        "answer_by": result.answer_by,
        "stale": stale_json(conversation, toolbox.watch, reading.figures),
        "claims": [claim.model_dump() for claim in claims],
        "warnings": warnings,
        "events": [event.model_dump(mode="json") for event in result.trace],
    }


def run_json(run: RunSummary) -> dict[str, Any]:
    """A stored run in a list of runs; ``stop_reason`` and ``steps`` are null while it runs."""
    return {
        "run_id": run.run_id,
        "session_id": run.handle,
        "started": datetime.fromtimestamp(run.started, UTC).isoformat(timespec="seconds"),
        "model": run.model,
        "text": run.text,
        "stop_reason": run.stop_reason,
        "answer": run.answer,
        "steps": run.steps,
    }
