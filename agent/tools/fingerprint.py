"""The fingerprint of a call: equal for every spelling of the same call, different for every other."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any


def fingerprint(name: str, arguments: Mapping[str, Any]) -> str:
    """Hash a tool name and its arguments to 16 hex digits.

    The name is trimmed and lower-cased; keys are trimmed, lower-cased and sorted; white space in strings
    is collapsed and case folded; numbers compare as decimals (25 is 25.0) but 7 and "7" differ; the order
    of a list matters. Give the *repaired* arguments with defaults filled in.
    """
    canonical = json.dumps([name.strip().lower(), _canonical(arguments)], ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]


def _canonical(value: Any) -> Any:
    match value:
        case Mapping():
            pairs = [(str(key).strip().lower(), _canonical(item)) for key, item in value.items()]
            return {"object": sorted(pairs, key=json.dumps)}
        case list() | tuple():
            return [_canonical(item) for item in value]
        case str():
            return " ".join(value.split()).casefold()
        case bool() | None:
            return value
        case int() | float():
            return {"number": _decimal_text(value)}
        case _:
            return {"other": repr(value)}


def _decimal_text(number: int | float) -> str:
    if isinstance(number, int) or number.is_integer():
        return format(int(number), "x")  # hexadecimal: decimal text of huge integers is refused by Python
    return repr(number)
