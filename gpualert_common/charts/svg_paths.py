"""Paths of SVG made short: relative, to a tenth of a unit, without points on a level line."""

from __future__ import annotations

import re

_PLAIN_PATH = re.compile(r"(?:[MLZ]|-?\d+(?:\.\d+)?(?:e-?\d+)?|[ ,])*")
_SUBPATH = re.compile(r"M([^MZ]*)(Z?)")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")

_Place = tuple[int, int]


def shorten_path(path: str) -> str:
    """Return a path of straight lines in a third of its length; another path as it is.

    Each place is rounded by itself, so that no error adds up.
    """
    if not _PLAIN_PATH.fullmatch(path):
        return path
    parts = []
    for found in _SUBPATH.finditer(path):
        numbers = [round(float(one) * 10) for one in _NUMBER.findall(found[1])]
        places = _drop_level_places(list(zip(numbers[::2], numbers[1::2], strict=False)))
        if places:
            parts.append(_format_part(places) + found[2].lower())
    return "".join(parts)


def _drop_level_places(places: list[_Place]) -> list[_Place]:
    """Return the places without those between two others of the same height, and repeated ones."""
    kept: list[_Place] = []
    for place in places:
        if kept and place == kept[-1]:
            continue
        if len(kept) > 1 and kept[-2][1] == kept[-1][1] == place[1]:
            is_between = (
                kept[-2][0] < kept[-1][0] < place[0] or kept[-2][0] > kept[-1][0] > place[0]
            )
            if is_between:
                kept.pop()
        kept.append(place)
    return kept


def _format_part(places: list[_Place]) -> str:
    (x, y), *rest = places
    text = [f"M{_format(x)},{_format(y)}"]
    for index, (next_x, next_y) in enumerate(rest):
        text.append(f"{' ' if index else 'l'}{_format(next_x - x)},{_format(next_y - y)}")
        x, y = next_x, next_y
    if not rest:
        text.append("h0")  # a dot, by the round ends of the line
    return "".join(text)


def _format(tenths: int) -> str:
    whole, tenth = divmod(abs(tenths), 10)
    sign = "-" if tenths < 0 else ""
    return f"{sign}{whole or ''}.{tenth}" if tenth else f"{sign}{whole}"
