"""Progress bars of tqdm."""

from __future__ import annotations

from typing import NamedTuple

from gpualert_common.classify.line_prefixes import strip_prefixes
from gpualert_common.progress.pairs import parse_number, to_count
from gpualert_common.regex import compile_bytes

_BAR = compile_bytes(
    rb"\| ([\d.]+)([kMG]?)/(?:([\d.]+)([kMG]?)|\?) "
    rb"\[[\d:]{4,12}<[\d:?]*(?:, *(?:([\d.]+)|\?)([a-zA-Z]+/[a-zA-Z]+))?([^\]]*)\]"
)
_SCALES = {b"": 1, b"k": 1000, b"M": 10**6, b"G": 10**9}


class Bar(NamedTuple):
    """One state of a bar.  ``label`` can be empty; ``rest`` is the text after the rate.

    ``rate`` is in ``unit`` ("it/s" or "s/it"), None while it is not known.
    """

    label: str
    done: int
    total: int | None
    rate: float | None
    unit: str
    rest: bytes

    @property
    def step_s(self) -> float | None:
        """Seconds for one step, by the rate of the bar."""
        if not self.rate:
            return None
        return self.rate if self.unit.startswith("s/") else 1 / self.rate


def find_bar(line: bytes) -> tuple[Bar, int] | None:
    """Return the first bar on *line* and the position of its end; None without a bar."""
    match = _BAR.search(line)
    if match is None:
        return None
    done, scale, total, total_scale, rate, unit, rest = match.groups()
    before = line[: match.start()]
    prefixed = strip_prefixes(before)
    label = before.decode("utf-8", "replace") if "host" in prefixed.stream else prefixed.text
    label = label.partition("|")[0].rstrip("0123456789% ").rstrip(": ")
    count = _scale_count(done, scale)
    if count is None:
        return None
    bar = Bar(
        label=label.strip(),
        done=count,
        total=_scale_count(total, total_scale) if total else None,
        rate=parse_number(rate) if rate else None,
        unit=(unit or b"").decode(),
        rest=rest or b"",
    )
    return bar, match.end()


def _scale_count(text: bytes, scale: bytes) -> int | None:
    value = parse_number(text)
    return None if value is None else to_count(round(value, 6) * _SCALES[scale])
