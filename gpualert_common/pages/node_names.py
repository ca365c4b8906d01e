"""Names of nodes in short form, as Slurm writes them: ``gpu[001-003,007]``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

_DIGITS = frozenset("0123456789")
_MOST_DIGITS = 9
_MOST_RANGES = 12


def compress_names(names: Iterable[str]) -> str:
    """Return the names with ranges of numbers; of many ranges the first ones."""
    found = [_split_number(name) for name in dict.fromkeys(names)]
    padded = {(head, tail, len(digits)) for head, digits, tail in found if digits[:-1][:1] == "0"}
    numbers: dict[tuple[str, str, int], list[int]] = {}
    others: list[str] = []
    for head, digits, tail in found:
        if not digits:
            others.append(tail)
            continue
        width = len(digits) if (head, tail, len(digits)) in padded else 0
        numbers.setdefault((head, tail, width), []).append(int(digits))
    parts = []
    for (head, tail, width), values in numbers.items():
        ranges = list(_make_ranges(sorted(values), width))
        shown = ",".join(ranges[:_MOST_RANGES]) + (",…" if len(ranges) > _MOST_RANGES else "")
        is_one = len(ranges) == 1 and "-" not in shown
        parts.append(f"{head}{shown}{tail}" if is_one else f"{head}[{shown}]{tail}")
    parts += others
    shown = ", ".join(parts[:_MOST_RANGES])
    return shown + (f" and {len(parts) - _MOST_RANGES} more" if len(parts) > _MOST_RANGES else "")


def _split_number(name: str) -> tuple[str, str, str]:
    """Return the text before the last number of the host, its digits, and the text after it."""
    host = name.partition(".")[0]
    end = len(name) if host.isdecimal() else len(host)  # an address, or a name with its domain
    while end and name[end - 1] not in _DIGITS:
        end -= 1
    begin = end
    while begin and name[begin - 1] in _DIGITS and end - begin < _MOST_DIGITS:
        begin -= 1
    return name[:begin], name[begin:end], name[end:]


def _make_ranges(values: list[int], width: int) -> Iterator[str]:
    begin = last = values[0]
    for value in [*values[1:], None]:
        if value is not None and value == last + 1:
            last = value
            continue
        first, end = f"{begin:0{width}d}", f"{last:0{width}d}"
        yield first if begin == last else f"{first}-{end}"
        if value is not None:
            begin = last = value
