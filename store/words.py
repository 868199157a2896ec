"""How text becomes words to search for, the same way for a book and for a query."""

import re
import unicodedata
from functools import lru_cache

LONGEST_TEXT = 4_000
LONGEST_WORD = 40

STOP_WORDS = frozenset(
    """a about add all an and any are as at be book books buy by can cart do find for from get give has have i in
    is it its like looking me my of on one or please search show some something that the there this titled to want
    was what which who with would written you your""".split()  # noqa: SIM905 - a page of quotes and commas reads worse
)

# Letters that Unicode does not decompose, signs that make a name, and Arabic letters that are typed either way.
_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i", "æ": "ae", "œ": "oe", "ة": "ه", "ى": "ي"}
)
_SIGNS = {"+": "plus", "#": "sharp", "%": "percent"}
_MARKS = re.compile("[\u0300-\u036f\u0640\u064b-\u065f\u0670]")
_POSSESSIVE = re.compile(r"(?<=[^\W_])['’]s(?![^\W_])")

# Scripts written without spaces: each character is a word of its own, and a run of them is searched as a phrase.
_RUN = "[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]"
_WORD = re.compile(rf"{_RUN}+|(?:(?!{_RUN})[^\W_])+[+#%]*")
_IS_RUN = re.compile(_RUN)


def fold(text: str) -> str:
    """Fold case, accents and compatibility forms away: 'Élodie' is 'elodie'."""
    if text.isascii():
        return text.lower()
    bare = _MARKS.sub("", unicodedata.normalize("NFKD", text).casefold())
    return unicodedata.normalize("NFKC", bare.translate(_LETTERS))


def _stem(word: str) -> str:
    """Bring plural and singular of a word together, and an Arabic noun with and without its article."""
    if word.startswith("ال") and len(word) > 4:
        return word[2:]
    if len(word) < 4 or not word.isascii() or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    return word[:-2] if word.endswith(("xes", "ches", "shes")) else word[:-1]


def words_of(text: str) -> list[str]:
    """Split text into search words in order.

    A run of Chinese, Japanese or Korean is one word, with its characters spaced apart.
    """
    found = _WORD.findall(_POSSESSIVE.sub("", fold(text[:LONGEST_TEXT])))
    return [_one_word(raw) for raw in found]


@lru_cache(maxsize=100_000)
def _one_word(raw: str) -> str:
    if _IS_RUN.match(raw):
        return " ".join(raw[:LONGEST_WORD])
    bare = raw.rstrip("+#%")
    if bare == raw:
        return _stem(raw[:LONGEST_WORD])
    return bare[:LONGEST_WORD] + "".join(_SIGNS[sign] for sign in raw[len(bare) :][:4])


def title_key(text: str) -> str:
    """What two spellings of one title share: 'the LAST lighthouse' and 'Last Lighthouse' have the same key."""
    words = words_of(text)
    return " ".join([word for word in words if word not in STOP_WORDS] or words)
