"""Stamps on tool results: when they were read and at which versions, and a mark once that is overtaken."""

from agent.trace import ShopChanged, ToolFinished


def facts_of(result: ToolFinished) -> dict[str, int]:
    """The versions a result tells of, by resource."""
    read = {fact.resource: fact.version for fact in result.reads}
    return read | {change.resource: change.version for change in result.changes}


def stamped(result: ToolFinished) -> str:
    """The text of a result with its stamp below it."""
    versions = "".join(f", {resource} v{version}" for resource, version in facts_of(result).items())
    return f"{result.result}\n[as of {result.at:%H:%M:%S} UTC{versions}]"


def overtaken_mark(change: ShopChanged) -> str:
    """What is added below a stamped result that no longer holds; what it tells of may have changed again."""
    return f"\n[OVERTAKEN: {change.resource} has changed since, with v{change.version_after}]"
