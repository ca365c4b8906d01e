"""Changes to a log that do not change what went wrong: prefixes, noise, cuts, cascades.

Each is a function of a log, its entry and a source of chance, and keeps every line that a label
can rest on.  What another rank, launcher, terminal or user would have made of the same run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from random import Random
from typing import Final

from gpualert_common.corpus import noise
from gpualert_common.corpus.entries import Entry

RANKS = 8
BENIGN_LINES = 20_000
CASCADE_LINES = 200

Change = Callable[[str, Entry, Random], str]

_FAILURE = re.compile(
    r"(?i)traceback|error|exception|fail|abort|fault|fatal|kill|signal|cancel|preempt|panic"
    r"|denied|terminat|out of memory|oom|nan|inf\b|warn|not found|no such|unable|cannot|invalid"
    r"|timed? ?out|timeout|limit|lost|refused|unreachable|interrupt|stop|exit|xid|xla|slurm"
)
"""Words of a line that a label may rest on: no head is cut off behind one."""

_TRACEBACK = re.compile(r"^.{0,80}Traceback \(most recent call last\)", re.MULTILINE)


def changed(name: str, log: bytes, entry: Entry) -> bytes:
    """*log* after the change *name* of :data:`CHANGES`; always the same for the same log."""
    text = log.decode("utf-8", "surrogateescape")
    after = CHANGES[name](text, entry, Random(f"{entry.id} {name}"))
    return after.encode("utf-8", "surrogateescape")


def _lines(text: str) -> list[str]:
    """The lines of *text* with their ends, the last one ended too."""
    return [f"{line}\n" for line in text.removesuffix("\n").split("\n")] if text else []


def rank_prefixes(text: str, entry: Entry, random: Random) -> str:  # noqa: ARG001
    """Every line behind the prefix that a launcher gives to one rank."""
    prefix = _prefix(random.randrange(len(_PREFIXES)), random.randrange(RANKS))
    return "".join(prefix + line for line in _lines(text))


_PREFIXES = (
    "[rank{}]: ",
    "[rank{}]:",
    "[default{}]:",
    "[1,{}]<stderr>:",
    "{}: ",
    "(TrainTrainable pid=3810{}) ",
)


def _prefix(style: int, rank: int) -> str:
    return _PREFIXES[style].format(rank)


def interleaved(text: str, entry: Entry, random: Random) -> str:  # noqa: ARG001
    """Eight ranks write the same, each at its own pace, in turns of some lines."""
    style = random.randrange(len(_PREFIXES))
    lines = _lines(text)
    at = [0] * RANKS
    written = []
    while pending := [rank for rank in range(RANKS) if at[rank] < len(lines)]:
        rank = random.choice(pending)
        until = at[rank] + random.choice((1, 1, 1, 2, 3, 8))
        written += [_prefix(style, rank) + line for line in lines[at[rank] : until]]
        at[rank] = until
    return "".join(written)


def lockstep(text: str, entry: Entry, random: Random) -> str:  # noqa: ARG001
    """Eight ranks write the same, line by line in turn, each behind its prefix."""
    style = random.randrange(len(_PREFIXES))
    return "".join(_prefix(style, rank) + line for line in _lines(text) for rank in range(RANKS))


def unmarked(text: str, entry: Entry, random: Random) -> str:  # noqa: ARG001
    """Eight ranks write the same, line by line in turn, and nothing says which is whose."""
    return "".join(line for line in _lines(text) for _ in range(RANKS))


def colours(text: str, entry: Entry, random: Random) -> str:  # noqa: ARG001
    """The escape sequences of a terminal, around lines and inside them."""
    return "".join(_coloured(line, random) for line in _lines(text))


_COLOURED = (
    (re.compile(r"\b(?:[A-Z]\w*(?:Error|Exception|Interrupt)|ERROR|WARNING|INFO)\b"), "1;31"),
    (re.compile(r"(?<![\w\x1b\[;])\d+(?:\.\d+)?(?![\w;])"), "36"),
    (re.compile(r"(?<=\")/[^\"\x1b]+(?=\")"), "35"),
)


def _coloured(line: str, random: Random) -> str:
    body = line.rstrip("\r\n")
    if not body.strip() or "\x1b" in body:
        return line
    end = line[len(body) :]
    if random.random() < 0.3:
        return f"\x1b[{random.choice((31, 33, 90, 91))}m{body}\x1b[0m{end}"
    for pattern, colour in _COLOURED:
        body = pattern.sub(f"\x1b[{colour}m\\g<0>\x1b[0m", body)
    return body + end


def bars(text: str, entry: Entry, random: Random) -> str:  # noqa: ARG001
    r"""tqdm redraws its bar with ``\r`` between lines, in front of a line, and at the end.

    From the first word of a failure on, the bar stands still: it is drawn again, not moved.
    """
    step = random.randrange(400, 2000)
    written = []
    inside, moving = False, True
    for line in _lines(text):
        moving = moving and not _FAILURE.search(line)
        if not inside and random.random() < 0.4:
            for _ in range(random.randrange(1, 4)):
                step += moving
                written.append(f"\r{noise.bar(random, step)}")
            written.append("\n" if _PREFIXED.match(line) else random.choice(("", "\n")))
        written.append(line)
        inside = _goes_on(line, inside)
    written += [f"\r{noise.bar(random, step)}", "\n"]
    return "".join(written)


_PREFIXED = re.compile(r"\[?[\w,-]+\d\]?(?:<\w+>)?:|\(\w+ pid=")
"""A launcher passes whole lines on, so none of its lines begins behind a bar."""

_WITHIN = re.compile(r"(?:\[?[\w@.,-]{1,40}\]?(?:<\w+>)?:)?(?:[ \t]{2,}|[ \t]*[|+]|\s*$)")
"""A line inside a traceback: indented, boxed or empty, behind a launcher's prefix or not."""


def _goes_on(line: str, inside: bool) -> bool:
    """True while *line* and the next one belong to one traceback, which is written at once."""
    return bool(_TRACEBACK.match(line)) or (inside and bool(_WITHIN.match(line)))


def stamps(text: str, entry: Entry, random: Random) -> str:  # noqa: ARG001
    """Times in front: of every line as a container runtime has it, or of several loggers."""
    lines = _lines(text)
    if random.random() < 0.5:
        return "".join(
            f"{_time(n, 'T')}.{n * 7919 % 10**9:09}Z {line}" for n, line in enumerate(lines)
        )
    written = []
    inside = False
    for number, line in enumerate(lines):
        ends = inside  # the line behind the last frame: the exception
        inside = _goes_on(line, inside)
        plain = inside or ends or line[:1].isspace()
        written.append(line if plain else random.choice(_LOGGERS).format(_time(number, " ")) + line)
    return "".join(written)


_LOGGERS = (
    "{},481 - trainer - INFO - ",
    "[{},481][train][INFO] - ",
    "[{},481] [INFO] [engine.py:204:step] ",
    "{}.481 | INFO     | train:main:88 - ",
    "INFO:{}: ",
    "[{}] ",
)


def _time(number: int, between: str) -> str:
    minute, second = divmod(number, 60)
    return f"2026-03-11{between}{9 + minute // 60 % 14:02}:{minute % 60:02}:{second:02}"


def head_cut(text: str, entry: Entry, random: Random) -> str:  # noqa: ARG001
    """The first third is gone, in the middle of a line, but nothing that speaks of a failure."""
    first = _FAILURE.search(text)
    safe = text.rfind("\n", 0, first.start()) + 1 if first else len(text)
    return text[min(len(text) // 3, safe) :]


def traceback_cut(text: str, entry: Entry, random: Random) -> str:  # noqa: ARG001
    """The log begins in the middle of its last traceback, where nothing before it tells more."""
    starts = [found.start() for found in _TRACEBACK.finditer(text)]
    first = _FAILURE.search(text)
    if not starts or first is None or text.rfind("\n", 0, first.start()) + 1 < starts[-1]:
        return text
    lines = text[starts[-1] :].split("\n")
    frames = 1
    while frames < len(lines) and lines[frames][:1] in (" ", "\t"):
        frames += 1
    return "\n".join(lines[max(1, frames // 2) :])


_HOMES = (
    "/gpfs/scratch/proj-482/k.müller",
    "/home/nan/cuda-oom-killed",
    "/mnt/nfs/users/O'Brien/my runs (final)",
    "/lustre/home/wang_error404/workspace",
    "/Users/ci/builds/7f3a91c2/0/ml-team",
)
_ROOTS = re.compile(
    r"(?<![\w.:/-])/(?:home/[\w.-]+|root|workspace|opt/(?:venv|conda|ml)|mnt/[\w.-]+|scratch(?:/\w+)?)"
    r"(?=/[\w.])"
)


def other_paths(text: str, entry: Entry, random: Random) -> str:  # noqa: ARG001
    """Homes, workspaces and environments lie where other people have them."""
    homes = random.sample(_HOMES, len(_HOMES))
    seen: dict[str, str] = {}

    def moved(found: re.Match[str]) -> str:
        return seen.setdefault(found[0], homes[len(seen) % len(homes)])

    return _ROOTS.sub(moved, text)


def long_before(text: str, entry: Entry, random: Random) -> str:  # noqa: ARG001
    """Twenty thousand lines of good training come first."""
    style = random.randrange(noise.PROGRESS_STYLES)
    return noise.progress(BENIGN_LINES, style).decode() + text


_NO_CASCADE = frozenset({"none", "idle_hang"})
"""A hang without collectives has none to time out."""


def cascade_after(text: str, entry: Entry, random: Random) -> str:
    """The other ranks and torchrun report at length what the failure did to them.

    Of a run that failed and said so: behind exit code 0 or an empty log there is no launcher that
    could, and the cascade itself would be all that is known.
    """
    if entry.cause in _NO_CASCADE or not entry.exit_code or not text.strip():
        return text
    return "".join(_lines(text)) + noise.cascade(random, entry.exit_code, CASCADE_LINES)


CHANGES: Final[Mapping[str, Change]] = {
    "rank prefixes": rank_prefixes,
    "eight ranks interleaved": interleaved,
    "eight ranks in lockstep": lockstep,
    "eight ranks without prefixes": unmarked,
    "ANSI colours": colours,
    "progress bars": bars,
    "timestamps": stamps,
    "first third cut off": head_cut,
    "cut inside the last traceback": traceback_cut,
    "other users' paths": other_paths,
    "20,000 benign lines before": long_before,
    "200 lines of cascade after": cascade_after,
}
"""The robustness table, in its order."""
