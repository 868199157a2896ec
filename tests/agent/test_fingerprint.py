"""The fingerprint of a call: one for every spelling, another for every other call."""

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from agent.tools.fingerprint import fingerprint

ASCII = st.characters(min_codepoint=33, max_codepoint=126)
WORDS = st.lists(st.text(ASCII, min_size=1, max_size=6), max_size=4).map(" ".join)
KEYS = st.text("abcdefgh_", min_size=1, max_size=6)
VALUES = st.recursive(
    WORDS | st.integers(-(10**6), 10**6) | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=10,
)
ARGUMENTS = st.dictionaries(KEYS, VALUES, max_size=4)


@st.composite
def respelled(draw: st.DrawFn, value: Any) -> Any:
    """The same value in another spelling of section D: order and case of keys, case and space, 25 for 25.0."""
    match value:
        case dict():
            keys = draw(st.permutations(list(value)))
            return {f" {key.upper()}" if draw(st.booleans()) else key: draw(respelled(value[key])) for key in keys}
        case list():
            return [draw(respelled(item)) for item in value]
        case str():
            return draw(st.sampled_from([value, value.upper(), f"\t{value} ", value.replace(" ", " \n ")]))
        case bool() | None:
            return value
        case int():
            return draw(st.sampled_from([value, float(value)]))


@given(st.data(), ARGUMENTS)
def test_every_respelling_has_the_same_fingerprint(data: st.DataObject, arguments: dict[str, Any]) -> None:
    other = data.draw(respelled(arguments))
    assert fingerprint(" Check_Stock\n", other) == fingerprint("check_stock", arguments)


@given(ARGUMENTS)
def test_a_fingerprint_is_16_hex_digits(arguments: dict[str, Any]) -> None:
    mark = fingerprint("look", arguments)
    assert len(mark) == 16
    assert set(mark) <= set("0123456789abcdef")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"n": 25}, {"n": 25.0}),
        ({"n": 0}, {"n": -0.0}),
        ({"n": 1e3}, {"n": 1000}),
        ({"q": "The  Last\tLighthouse"}, {"q": " the last lighthouse "}),
        ({"q": "STRASSE"}, {"q": "straße"}),
        ({"q": "a\u00a0b"}, {"q": "a b"}),
        ({"A ": 1, "b": 2}, {"B": 2, "a": 1.0}),
        ({"x": {"B": [1, {"C ": "D"}], "a": 1}}, {"X": {"A": 1, "b": [1.0, {"c": "d"}]}}),
        ({"l": [1, 2]}, {"l": (1, 2)}),
    ],
)
def test_spellings_of_one_call(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert fingerprint("t", one) == fingerprint("T ", other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"n": 7}, {"n": "7"}),
        ({"n": 7}, {"n": 8}),
        ({"n": 7}, {"m": 7}),
        ({"n": 7}, {"n": [7]}),
        ({"n": 1}, {"n": True}),
        ({"n": 0}, {"n": False}),
        ({"n": None}, {}),
        ({"n": None}, {"n": "None"}),
        ({"n": "true"}, {"n": True}),
        ({"l": [1, 2]}, {"l": [2, 1]}),
        ({"l": [[1], 2]}, {"l": [1, [2]]}),
        ({"n": 0.1}, {"n": 0.2}),
        ({"n": 10**30}, {"n": 10**30 + 1}),
        ({"q": "a b"}, {"q": "ab"}),
        ({"q": {"a": 1}}, {"q": [["a", 1]]}),
        ({"q": {"number": "7"}}, {"q": 7}),
        ({"q": ""}, {}),
    ],
)
def test_different_calls(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert fingerprint("t", one) != fingerprint("t", other)


def test_the_name_of_the_tool_matters() -> None:
    assert fingerprint("look", {}) != fingerprint("put", {})


@given(ARGUMENTS, KEYS, VALUES, VALUES)
def test_another_value_is_another_call(arguments: dict[str, Any], key: str, one: Any, two: Any) -> None:
    assume(_plain(one) != _plain(two))
    assert fingerprint("t", arguments | {key: one}) != fingerprint("t", arguments | {key: two})


@pytest.mark.parametrize(
    "arguments",
    [{"a": 1, "A": 2}, {"a": [1], " a": {"b": 1}}, {"a": None, "A": 1}, {"a": "x", "A": 1}, {"a": "\ud800"}],
)
def test_any_arguments_a_model_can_write_have_a_fingerprint(arguments: dict[str, Any]) -> None:
    assert len(fingerprint("t", arguments)) == 16


def _plain(value: Any) -> Any:
    match value:
        case dict():
            return {"dict": sorted((key, repr(_plain(item))) for key, item in value.items())}
        case list():
            return [_plain(item) for item in value]
        case str():
            return " ".join(value.split()).casefold()
        case bool() | None:
            return repr(value)
        case _:
            return value
