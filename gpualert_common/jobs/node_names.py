"""Names of many nodes in short form, as Slurm writes them: "gpu[001-748]"."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

_MOST_DIGITS = 9


def fold_names(names: Iterable[str], most: int = 8) -> str:
    """Return names with their numbers as ranges; of more than ``most`` parts the first ones."""
    plain: dict[str, None] = {}
    numbered: dict[tuple[str, int, str], set[int]] = defaultdict(set)
    split = [_split(name) for name in names]
    padded = {
        (head, len(digits), tail)
        for head, digits, tail in split
        if len(digits) > 1 and digits[0] == "0"
    }
    for head, digits, tail in split:
        width = len(digits)
        if digits:
            is_padded = (head, width, tail) in padded
            numbered[head, width if is_padded else 0, tail].add(int(digits))
        else:
            plain[head + tail] = None
    parts = list(plain)
    for (head, width, tail), numbers in sorted(numbered.items()):
        ranges = _ranges(sorted(numbers), width)
        is_one = len(ranges) == 1 and "-" not in ranges[0]
        parts.append(head + (ranges[0] if is_one else f"[{','.join(ranges)}]") + tail)
    shown = parts[:most]
    more = f" and {len(parts) - most} more" if len(parts) > most else ""
    return ", ".join(shown) + more


def _split(name: str) -> tuple[str, str, str]:
    """Return the text before the last number of the first label, the number, and the rest."""
    label, dot, domain = name.partition(".")
    end = len(label)
    while end and not (label[end - 1].isascii() and label[end - 1].isdigit()):
        end -= 1
    begin = end
    while begin and label[begin - 1].isascii() and label[begin - 1].isdigit():
        begin -= 1
    if end - begin > _MOST_DIGITS:
        return name, "", ""
    return label[:begin], label[begin:end], label[end:] + dot + domain


def _ranges(numbers: list[int], width: int) -> list[str]:
    found: list[list[int]] = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return [
        f"{low:0{width}d}" if low == high else f"{low:0{width}d}-{high:0{width}d}"
        for low, high in found
    ]
