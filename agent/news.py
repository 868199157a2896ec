"""What happened to the shop meanwhile: through other channels, and by calls that were cut off and came late."""

from agent.trace import Note, ShopChanged
from agent.turn import Turn, Yields


def hear_news(turn: Turn) -> Yields[None]:
    """Record what has changed of what this conversation knows; the model reads it only where a cure tells it."""
    yield from hear_changes(turn)
    if not turn.freshness.tell:
        return
    known = turn.conversation.seen
    # A change there and back, or a reset that left a thing as it was, is none to the model.
    news = [
        fact
        for resource, fact in turn.conversation.news.items()
        if resource not in known or known[resource][-1].fact.value != fact.value
    ]
    if news:
        yield turn.write(Note, purpose="snapshot", text=turn.freshness.tell(news), reads=news)


def hear_changes(turn: Turn) -> Yields[None]:
    """Record the changes through other channels, in their order, and the calls that came late."""
    yield from hear_late_effects(turn)
    for change in turn.toolbox.changes(turn.conversation.known_versions):
        yield turn.write(ShopChanged, **change.model_dump(exclude={"kind", "step", "at"}))


def hear_late_effects(turn: Turn) -> Yields[None]:
    """Record what became of the calls that were cut off before they answered."""
    for late in list(turn.conversation.doubtful.values()):
        outcome = turn.toolbox.outcome(late.key or "")
        for change in outcome.changes if outcome else ():
            yield turn.write(
                ShopChanged,
                resource=change.resource,
                version_before=change.version_before,
                version_after=change.version,
                by=f"{late.call.name}, late",
                value=change.value,
                now=change.value,
                late_key=late.key,
                effect=change.effect,
            )
