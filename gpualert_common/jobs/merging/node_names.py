"""Names of many nodes in short form, as Slurm writes them: "gpu[001-748]"."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

_MOST_DIGITS = 9


def fold_names(names: Iterable[str], most: int = 8) -> str:
    """Return names with their numbers as ranges; of more than ``most`` parts the first ones."""
    parts: dict[str, None] = {}
    numbered: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name in names:
        head, digits, tail = _split(name)
        if digits:
            numbered[head, tail].append(digits)
        else:
            parts[name] = None
    for (head, tail), digits_of in sorted(numbered.items()):
        is_padded = any(digits[0] == "0" and len(digits) > 1 for digits in digits_of)
        by_width: dict[int, set[int]] = defaultdict(set)
        for digits in digits_of:
            by_width[len(digits) if is_padded else 0].add(int(digits))
        for width, numbers in sorted(by_width.items()):
            ranges = _ranges(sorted(numbers), width)
            is_one = len(ranges) == 1 and "-" not in ranges[0]
            parts[head + (ranges[0] if is_one else f"[{','.join(ranges)}]") + tail] = None
    shown = list(parts)[:most]
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
