"""A log that is written line by line, with its own clock and random numbers; tracebacks."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from textwrap import dedent, indent

_WRAPPED_CALL = {
    "2.1": (1518, 1527),
    "2.2": (1511, 1520),
    "2.3": (1532, 1541),
    "2.4": (1553, 1562),
    "2.5": (1736, 1747),
    "2.6": (1739, 1750),
    "2.7": (1751, 1762),
    "2.8": (1773, 1784),
}
_CALL = {"1.8": 889, "1.10": 1102, "1.12": 1130, "1.13": 1194, "2.0": 1501}
SITE = "/opt/conda/lib/python3.10/site-packages"


@dataclass(slots=True)
class Tape:
    """The lines so far; ``at`` is the clock, ``rng`` the only random generator."""

    seed: int
    start: str = "2025-03-11 08:14:02"
    rng: random.Random = field(init=False)
    at: datetime = field(init=False)
    lines: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        self.at = datetime.fromisoformat(self.start).replace(tzinfo=UTC)

    def say(self, *texts: str) -> Tape:
        """Append each text without outer line breaks; a text that begins with one is dedented."""
        self.lines += [
            (dedent(text) if text.startswith("\n") else text).strip("\n") for text in texts
        ]
        return self

    def wait(self, seconds: float) -> Tape:
        """Advance the clock."""
        self.at += timedelta(seconds=seconds)
        return self

    def when(self, form: str = "%Y-%m-%d %H:%M:%S") -> str:
        """Return the clock's time in *form*."""
        return self.at.strftime(form)

    def milli(self) -> str:
        """Return the clock's time in the form of Python's logging, with milliseconds."""
        self.at += timedelta(milliseconds=self.rng.randrange(2, 60))
        return f"{self.when()},{self.at.microsecond // 1000:03d}"

    def near(self, value: float, part: float = 0.05) -> float:
        """Return *value* with a random error of at most *part* of it."""
        return value * (1 + self.rng.uniform(-part, part))

    def address(self) -> str:
        """Return an address in a loaded library."""
        return f"0x7f{self.rng.randrange(16**10):010x}"

    def text(self) -> str:
        """Return the log."""
        return "\n".join(self.lines) + "\n"


def marked(prefix: str, text: str) -> str:
    """Return *text* with *prefix* before each line."""
    return "\n".join(prefix + line for line in dedent(text).strip("\n").split("\n"))


def rank(number: int, text: str) -> str:
    """Return *text* as torch's excepthook prints it for one rank."""
    return marked(f"[rank{number}]: ", text)


def mixed(tape: Tape, *texts: str) -> str:
    """Return the lines of several writers, interleaved at random, each writer's in order."""
    queues = [dedent(text).strip("\n").split("\n") for text in texts]
    merged: list[str] = []
    while any(queues):
        queue = tape.rng.choice([one for one in queues if one])
        taken = min(len(queue), tape.rng.randint(1, 4))
        merged += queue[:taken]
        del queue[:taken]
    return "\n".join(merged)


def call(version: str) -> str:
    """Return the frames between two modules' ``forward`` in torch *version*, for :func:`traceback`."""
    if version in _CALL:
        return f"@torch/nn/modules/module.py:{_CALL[version]} _call_impl | return forward_call(*args, **kwargs)"
    wrapped, inner = _WRAPPED_CALL[version]
    return (
        f"@torch/nn/modules/module.py:{wrapped} _wrapped_call_impl | return self._call_impl(*args, **kwargs)\n"
        f"@torch/nn/modules/module.py:{inner} _call_impl | return forward_call(*args, **kwargs)"
    )


def traceback(
    frames: str, error: str, *, root: str = "/workspace", site: str = SITE, carets: bool = False
) -> str:
    """Return a traceback; a frame has the form ``FILE:LINE FUNCTION | CODE``.

    A file after ``@`` lies in *site*, one after ``/`` is as it stands, another lies in *root*.  A
    line ``CALL 2.3`` stands for the frames of one module's call.  *carets* is Python 3.11's form.
    """
    shown = ["Traceback (most recent call last):"]
    for frame in _expanded(frames):
        place, _, code = frame.partition(" | ")
        where, _, function = place.rpartition(" ")
        file, _, line = where.rpartition(":")
        if file.startswith("@"):
            file = f"{site}/{file[1:]}"
        elif not file.startswith(("/", "<")) and not file.endswith(".pyx"):
            file = f"{root}/{file}"
        shown.append(f'  File "{file}", line {line}, in {function}')
        if code:
            shown.append(f"    {code}")
            if carets:
                shown += _carets(code)
    return "\n".join(shown) + "\n" + dedent(error).strip("\n")


def chained(first: str, then: str, *, direct: bool = False) -> str:
    """Return two tracebacks, the second raised while the first was handled (or from it)."""
    link = (
        "The above exception was the direct cause of the following exception:"
        if direct
        else "During handling of the above exception, another exception occurred:"
    )
    return f"{first}\n\n{link}\n\n{then}"


def indented(text: str, columns: int) -> str:
    """Return *text* with indentation."""
    return indent(dedent(text).strip("\n"), " " * columns)


def bar(label: str, done: int, total: int, seconds_each: float, tail: str = "") -> str:
    """Return one state of tqdm's bar, without its carriage return."""
    share = done / total
    width = int(share * 10)
    spent, left = done * seconds_each, (total - done) * seconds_each
    rate = f"{seconds_each:.2f}s/it" if seconds_each >= 1 else f"{1 / seconds_each:.2f}it/s"
    head = f"{label}: " if label else ""
    blocks = "█" * width + " " * (10 - width)
    return f"{head}{int(share * 100):3d}%|{blocks}| {done}/{total} [{_clock(spent)}<{_clock(left)}, {rate}{tail}]"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes:02d}:{rest:02d}"


def _expanded(frames: str) -> list[str]:
    lines: list[str] = []
    for line in filter(None, dedent(frames).split("\n")):
        name, _, version = line.partition(" ")
        lines += call(version).split("\n") if name == "CALL" else [line]
    return lines


def _carets(code: str) -> list[str]:
    for opening in ("return ", " = ", "for "):
        at = code.find(opening)
        if at >= 0:
            begin = at + len(opening)
            return ["    " + " " * begin + "^" * (len(code) - begin)]
    return []
