"""How models write what is no part of an answer: one table of dialects for all that hide, split, read or drop it.

A new dialect is one entry in ``DIALECTS``: what the curtain hides, what reading takes for thinking, and what is
taken for a call or asked for again follow from it.
"""

import re
from typing import Literal, NamedTuple

END = r"\Z"
_CALL = '{"name": "look", "arguments": {"what": "dune"}}'
_FUNCTION = "<function=look><parameter=what>dune</parameter></function>"


class Dialect(NamedTuple):
    """One way to write thinking, a call or a mark of a chat template, from a first mark to a last one.

    ``begins`` are the first letters of the first mark, from which on no answer is drawn. ``opens`` is a pattern
    for the rest of it, ``closes`` one for the last mark: empty where there is none, ``END`` where it is the end of
    the text, as it also is where that mark is missing; neither holds a group. ``sample`` is a reply for the tests.
    """

    kind: Literal["thinking", "call", "template"]
    begins: str
    opens: str
    closes: str
    sample: str
    body: Literal["json", "function"] | None = None
    """How a call is written; one of a dialect too rare to be read is asked for again."""
    first: bool = False
    """Whether it opens a text: further on its letters are plain words."""
    lone_end: bool = False
    """Whether its last mark tells that all before was thought: templates write the first one themselves."""


DIALECTS = (
    *(
        Dialect("thinking", f"<{tag}", r"\b[^<>]*>", f"</{tag}>", f"<{tag}>hm</{tag}>Dune.", lone_end=True)
        for tag in ("think", "thinking", "thought", "reasoning")
    ),
    Dialect("thinking", "[think]", "", r"\[/think\]", "[think]hm[/think]Dune.", lone_end=True),
    Dialect(
        "thinking",
        "<|channel|>",
        r"(?:analysis|commentary)<\|message\|>",
        r"<\|end\|>",
        "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Dune.",
    ),
    Dialect("call", "<tool_call", ">", "</tool_call>", f"<tool_call>\n{_CALL}\n</tool_call>", "json"),
    Dialect("call", "<function_call", ">", "</function_call>", f"<function_call>{_CALL}</function_call>", "json"),
    Dialect("call", "<function", r"=[\w.-]+>", "</function>", _FUNCTION, "function"),
    Dialect("call", "<|", r"tool_call\|?>", r"<\|?/?tool_call\|>", f"<|tool_call>{_CALL}<|tool_call|>", "json"),
    Dialect("call", "[TOOL_CALLS", r"\]", END, f"[TOOL_CALLS] [{_CALL}]", "json"),
    Dialect("call", "<invoke", r"\b", "</invoke>", '<invoke name="look"><parameter name="what">dune</invoke>'),
    Dialect("call", "<｜tool", "", END, "<｜tool▁calls▁begin｜>look<｜tool▁sep｜>dune"),
    Dialect("call", "Action:", "", END, "Action: look\nAction Input: dune", first=True),
    Dialect("call", "Thought:", r".*?\nAction:", END, "Thought: hm\nAction: look", first=True),
    Dialect("template", "<tool_response", ">", "</tool_response>", "<tool_response>[]</tool_response>Dune."),
    Dialect("template", "<|", r"(?:im_)?start\|>(?:assistant)?\s?", "", "<|im_start|>assistant\nDune."),
    Dialect("template", "<|", r"channel\|>final", "", "<|channel|>final<|message|>Dune."),
    Dialect("template", "<|", r"[a-z_]+\|>", "", "Dune.<|im_end|>"),
    Dialect("template", "<s>", "", "", "<s>Dune."),
    Dialect("template", "</s>", "", "", "Dune.</s>"),
)
SWITCHES = ("/think", "/no_think")
"""What a template switches thinking with; models repeat it at the end of an answer."""
FENCES = ("```", "~~~")
"""What a block of code stands between; one of JSON may be a call."""


def pattern(*choices: str) -> re.Pattern[str]:
    """A pattern for any of these, in capitals or not."""
    return re.compile("|".join(choices), re.DOTALL | re.IGNORECASE)


def of_kind(kind: str) -> list[Dialect]:
    """The dialects of one kind, in the order of the groups of its pattern, each of which holds what is inside."""
    return [dialect for dialect in DIALECTS if dialect.kind == kind]


def _first_mark(dialect: Dialect) -> str:
    return (r"\A" if dialect.first else "") + re.escape(dialect.begins) + dialect.opens


def _stretch(dialect: Dialect) -> str:
    """All of a dialect's stretch: time is linear, as one whose last mark is missing goes to the end."""
    closes = LONE_END.pattern if dialect.lone_end else dialect.closes
    return rf"{_first_mark(dialect)}(.*?)(?:{closes}|\Z)"


LONE_END = pattern(*(dialect.closes for dialect in DIALECTS if dialect.lone_end))
THOUGHT = pattern(*map(_first_mark, of_kind("thinking")))
THINKING, CALLS, TEMPLATE = (pattern(*map(_stretch, of_kind(kind))) for kind in ("thinking", "call", "template"))
ECHO = pattern(rf"(?:\s*(?:{'|'.join(SWITCHES)}))+\s*\Z")
