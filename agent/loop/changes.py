"""What happened to the shop meanwhile: through other channels, and by calls that were cut off and came late."""

from agent.loop.turn import Turn, Yields
from agent.trace import Note, ShopChanged


def hear_news(turn: Turn) -> Yields[None]:
    """Record what has changed of what this conversation knows; the model reads it only where a cure tells it."""
    yield from hear_changes(turn)
    if not turn.freshness.tell:
        return
    if news := turn.conversation.knowledge.unread():
        yield turn.add(Note(step=turn.step, purpose="snapshot", text=turn.freshness.tell(news), reads=news))


def hear_changes(turn: Turn) -> Yields[None]:
    """Record the changes through other channels, in their order, and the calls that came late."""
    yield from hear_late_effects(turn)
    for change in turn.toolbox.changes(turn.conversation.knowledge.versions):
        yield turn.add(change.model_copy(update={"step": turn.step}))


def hear_late_effects(turn: Turn) -> Yields[None]:
    """Record what became of the calls that were cut off before they answered."""
    for late in list(turn.conversation.knowledge.doubtful.values()):
        outcome = turn.toolbox.outcome(late.key or "")
        for change in outcome.changes if outcome else ():
            yield turn.add(
                ShopChanged(
                    step=turn.step,
                    resource=change.resource,
                    version_before=change.version_before,
                    version_after=change.version,
                    by=f"{late.call.name}, late",
                    value=change.value,
                    now=change.value,
                    late_key=late.key,
                    effect=change.effect,
                )
            )
