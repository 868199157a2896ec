"""Tools: what a function's signature tells the model."""

from typing import Annotated, Any, Literal

import pytest
from sqlalchemy import Engine

from agent.tools import Arg, FunctionTools, Tool, ToolOutcome
from assistant.settings import Settings
from assistant.shop_tools import ShopTools
from tests.agent.playing import Shelf, made


def sort_books(
    key: str,
    genre: Annotated[str, Arg("The genre.", 1, 40)],
    order: Annotated[Literal["best", "cheapest"], Arg("How to sort.")] = "best",
    most: Annotated[int, Arg("How many.", 1, 50)] = 5,
    year: int = 2000,
) -> ToolOutcome:
    """Sort books.
    Not for orders.
    """
    return ToolOutcome(result=f"{key} {genre} {order} {most} {year}")


SORT = Tool.of(sort_books, side_effecting=True)
PROPERTIES: dict[str, Any] = SORT.schema()["function"]["parameters"]["properties"]


def test_name_and_docstring_are_the_manual() -> None:
    assert (SORT.name, SORT.description) == ("sort_books", "Sort books.\nNot for orders.")
    assert SORT.schema()["type"] == "function"


def test_the_key_is_hidden_from_the_model_and_given_to_the_function() -> None:
    assert list(PROPERTIES) == ["genre", "order", "most", "year"]
    arguments, _ = SORT.check({"genre": "novel", "most": "9"})
    assert SORT.run(arguments, "k1").result == "k1 novel best 9 2000"


def test_limits_defaults_and_choices_are_in_the_description_too() -> None:
    assert {name: schema["description"] for name, schema in PROPERTIES.items()} == {
        "genre": "The genre. A text of 1 to 40 characters.",
        "order": "How to sort. One of best, cheapest. Default best.",
        "most": "How many. A whole number from 1 to 50. Default 5.",
        "year": "A whole number. Default 2000.",
    }
    assert PROPERTIES["order"]["enum"] == ["best", "cheapest"]
    assert (PROPERTIES["most"]["minimum"], PROPERTIES["most"]["maximum"], PROPERTIES["most"]["default"]) == (
        1,
        50,
        5,
    )
    assert (PROPERTIES["genre"]["minLength"], PROPERTIES["genre"]["maxLength"]) == (1, 40)


def test_only_arguments_without_default_are_required() -> None:
    assert SORT.schema()["function"]["parameters"]["required"] == ["genre"]


@pytest.mark.parametrize("tool", ["search_books", "check_stock", "get_order_status", "add_to_cart"])
def test_a_schema_of_the_shop_is_flat_and_names_no_identity(engine: Engine, tool: str) -> None:
    (schema,) = (t.schema() for t in ShopTools(engine, 1, "test").tools if t.name == tool)
    parameters = schema["function"]["parameters"]
    for name, part in parameters["properties"].items():
        assert part["type"] in ("integer", "string")
        assert not {"properties", "items", "anyOf", "allOf", "oneOf", "$ref"} & set(part)
        assert part["description"]
        assert not any(word in name for word in ("customer", "cart_id", "key", "owner"))
    assert len(schema["function"]["description"]) > 80


def test_the_shops_tools_come_in_the_order_of_the_design(engine: Engine) -> None:
    tools = ShopTools(engine, 1, "test", Settings(search_size=9)).tools
    assert [tool.name for tool in tools] == ["search_books", "check_stock", "get_order_status", "add_to_cart"]
    assert [tool.side_effecting for tool in tools] == [False, False, False, True]
    assert tools[0].check({"query": "x"})[0]["max_results"] == 9


def test_plain_functions_are_a_toolbox_that_remembers_nothing() -> None:
    tools: FunctionTools = Shelf().tools()
    assert tools.call(made("put", what="pen", count=2), "k").result == "there are 2 now"
    assert tools.outcome("k") is None
    assert list(tools.changes({"pen": 0})) == []
