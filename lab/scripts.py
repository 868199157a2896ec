"""Prepared models by name, for tests and for showing one thing at a time."""

from agent.models.scripted import Line, ScriptedModel, call, say

LIGHTHOUSE = (
    call("search_books", query="The Last Lighthouse"),
    call("check_stock", book_id=2),
    call("check_stock", book_id=7),
    call("add_to_cart", book_id=7, quantity=1),
    say("The Last Lighthouse is sold out, so I added The Quiet Orchard by Mira Holt. Your cart comes to $16.50."),
)
ENDLESS = (call("search_books", query="The Last Lighthouse"),)
SLOW = (
    Line(calls=(("search_books", {"query": "The Last Lighthouse"}),), thinking="I look for the book first."),
    Line(text="One word comes after the other. " * 40, pause=0.25),
)


def scripted_models() -> dict[str, ScriptedModel]:
    """New models that play these scripts from their beginning, by the name they are chosen with."""
    scripts = {"lighthouse": LIGHTHOUSE, "endless": ENDLESS, "slow": SLOW}
    models = [ScriptedModel(name, lines) for name, lines in scripts.items()]
    return {model.info.name: model for model in models}
