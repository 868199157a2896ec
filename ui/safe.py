"""Makes text of a model, a customer or the catalog safe to show: no formulas, images, links or directives."""

import re

WORD_JOINER = "\u2060"
"""Invisible; between two marks it keeps them from meaning anything together."""
LONGEST = 8_000

_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
_IMAGE = re.compile(r"!(?=\\?\[)")
_LINK = re.compile(r"\](?=[(\[:])")
_HEADING = re.compile(r"^([ >*+.)0-9-]*)(#{1,6}(?=\s|$)|[=-]+[ \t]*$)", re.MULTILINE)
_CODE = re.compile(r"\\*`")
_DEEP = re.compile(r"^[ \t]{4,}", re.MULTILINE)
_DOLLAR = re.compile(r"\\*\$")
_DIRECTIVE = re.compile(r"\\*:(?=[\w+/-]*[:\[{])")
_ADDRESS = re.compile(r"(?i)(https?|ftp|mailto|www)(?=[:.])")
_MAIL = re.compile(r"(?<=[\w.+-])@(?=\w)")
_MARKS = re.compile(r"([\\`*_{}\[\]()#+!|<>~$:&-])")


def safe_markdown(text: str, limit: int = LONGEST) -> str:
    """Keep bold and lists of an answer; break the delimiters of all that could load or fake something.

    Breaking delimiters is safer than parsing: there is no nesting to get wrong. Code is shown as plain text, since
    inside code nothing can be escaped. Longer text is cut with a mark.
    """
    text = plain(text, limit)
    text = _DEEP.sub("   ", text)
    text = _CODE.sub(r"\\`", text)
    text = _IMAGE.sub("!" + WORD_JOINER, text)
    text = _LINK.sub("]" + WORD_JOINER, text)
    text = _HEADING.sub(rf"\1{WORD_JOINER}\2", text)
    text = _ADDRESS.sub(rf"\1{WORD_JOINER}", text)
    text = _MAIL.sub("@" + WORD_JOINER, text)
    text = text.replace("<", "&lt;")
    return _DIRECTIVE.sub("&#58;", _DOLLAR.sub(r"\\$", text))


def safe_label(text: str, limit: int = 120) -> str:
    """One line for labels, where nothing of the text may be markup."""
    line = _ADDRESS.sub(rf"\1{WORD_JOINER}", " ".join(plain(text, limit).split()))
    return _MARKS.sub(r"\\\1", line)


def plain(text: str, limit: int = LONGEST) -> str:
    """Text without control marks, direction overrides and lone surrogates, cut with a mark where it is longer."""
    text = _CONTROLS.sub("", text).encode("utf-8", "replace").decode()
    return text if len(text) <= limit else text[: limit - 1] + "…"
