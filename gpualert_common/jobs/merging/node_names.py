"""Names of many nodes in short form, as Slurm writes them: "gpu[001-748]"."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from gpualert_common.processes.rank_names import find_ranges

_MOST_DIGITS = 9


def fold_names(names: Iterable[str], most: int = 8) -> str:
    """Return names with their numbers as ranges; of more than ``most`` parts, and of more ranges of
    one, the first ones."""
    parts: dict[str, int] = {}  # with the number of names that each shows
    numbered: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name in names:
        head, digits, tail = _split(name)
        if digits:
            numbered[head, tail].append(digits)
        else:
            parts[name] = 1
    count = len(parts)
    for (head, tail), digits_of in sorted(numbered.items()):
        is_padded = any(digits[0] == "0" and len(digits) > 1 for digits in digits_of)
        by_width: dict[int, set[int]] = defaultdict(set)
        for digits in digits_of:
            by_width[len(digits) if is_padded else 0].add(int(digits))
        for width, numbers in sorted(by_width.items()):
            count += len(numbers)
            ranges = find_ranges(numbers)[:most]
            texts = [_format_range(low, high, width) for low, high in ranges]
            is_one = len(numbers) == 1
            text = head + (texts[0] if is_one else f"[{','.join(texts)}]") + tail
            parts[text] = sum(high - low + 1 for low, high in ranges)
    left = count - sum(list(parts.values())[:most])
    return ", ".join(list(parts)[:most]) + (f" and {left} more" if left else "")


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


def _format_range(low: int, high: int, width: int) -> str:
    return f"{low:0{width}d}" if low == high else f"{low:0{width}d}-{high:0{width}d}"
