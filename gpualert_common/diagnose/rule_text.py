"""The words of a rule, filled with what is known of the run.

A template whose placeholders are not all known is passed over; nothing is ever said with a gap.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from string import Formatter
from typing import Any

from gpualert_common.classify.details import placeholders
from gpualert_common.classify.rules import Rule, Words

_FORMATTER = Formatter()
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")
_LONGEST = 240


def first_filled(templates: Iterable[str], known: Mapping[str, Any]) -> str | None:
    """The first of *templates* whose placeholders are all known, filled; None without one."""
    return next(iter(all_filled(templates, known)), None)


def all_filled(templates: Iterable[str], known: Mapping[str, Any]) -> tuple[str, ...]:
    """Those of *templates* whose placeholders are all known, filled."""
    shown = {name: _shown(name, value) for name, value in known.items() if value not in (None, "")}
    return tuple(
        _FORMATTER.vformat(template, (), shown) if "{" in template else template
        for template in templates
        if placeholders(template) <= shown.keys()
    )


def words_for(rule: Rule, known: Mapping[str, Any]) -> Words:
    """The words of *rule* for these details: its first fitting case over what always holds."""
    plain = rule.words
    for case in rule.cases:
        if all(str(known.get(name)) == value for name, value in case.when):
            return Words(
                headline=case.headline or plain.headline,
                implies=case.implies or plain.implies,
                cannot_decide=case.cannot_decide or plain.cannot_decide,
                do=case.do or plain.do,
            )
    return plain


def format_size(count: int) -> str:
    """*count* bytes for people: "91.6 GiB"."""
    value, unit = float(count), _UNITS[0]
    for unit in _UNITS:
        if abs(value) < 1024 or unit == _UNITS[-1]:
            break
        value /= 1024
    return f"{count} bytes" if unit == "bytes" else f"{value:.1f} {unit}"


def _shown(name: str, value: Any) -> str:
    if name.endswith("_bytes") and isinstance(value, int):
        return format_size(value)
    text = " ".join(str(value).split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
