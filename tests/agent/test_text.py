"""The JSON that a text begins with."""

from typing import Any

import pytest

from agent.text import leading_json


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ('{"a": 1}', {"a": 1}),
        ('  {"a": 1}\n[as of 10:00:00 UTC, cart v2]', {"a": 1}),
        ('{"books": [{"id": 1}, {"id": 2}, {"i', {"books": [{"id": 1}, {"id": 2}]}),
        ('{"books": [{"id', {"books": []}),
        ('{"added": "The Qui', {}),
        ("[1, 2]", {}),
        ("no book has the id 7", {}),
        ("{" * 100_000, {}),
        ("", {}),
    ],
)
def test_what_a_result_begins_with_is_read_and_of_a_cut_list_its_whole_rows(
    text: str, data: dict[str, Any]
) -> None:
    assert leading_json(text) == data
