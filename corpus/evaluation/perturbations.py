"""Changes of a log that keep the cause of the failure: prefixes, noise, cuts, cascades.

Each is a function of a log, its entry and a random generator, and keeps every line that the label
depends on.  It makes the log that another rank, launcher, terminal or user would have produced.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from random import Random
from typing import Final

from corpus.entries import CorpusEntry
from corpus.evaluation import noise

RANKS = 8
BENIGN_LINES = 20_000
CASCADE_LINES = 200

Change = Callable[[str, CorpusEntry, Random], str]

_FAILURE = re.compile(
    r"(?i)traceback|error|exception|fail|abort|fault|fatal|kill|signal|cancel|preempt|panic"
    r"|denied|terminat|out of memory|oom|nan|inf\b|warn|not found|no such|unable|cannot|invalid"
    r"|could(?: not|n't)|not enough|detected an attempt"
    r"|timed? ?out|timeout|limit|lost|refused|unreachable|interrupt|stop|exit|xid|xla|slurm"
)
"""Words of a line that a label may depend on: the start of a log is never cut off after one."""

_TRACEBACK = re.compile(r"^.{0,80}Traceback \(most recent call last\)", re.MULTILINE)


def change_log(name: str, log: bytes, entry: CorpusEntry) -> bytes:
    """Return *log* after the change *name* of :data:`CHANGES`; the same each time."""
    text = log.decode("utf-8", "surrogateescape")
    after = CHANGES[name](text, entry, Random(f"{entry.id} {name}"))
    return after.encode("utf-8", "surrogateescape")


def _lines(text: str) -> list[str]:
    """Return the lines of *text*, each with a line feed."""
    return [f"{line}\n" for line in text.removesuffix("\n").split("\n")] if text else []


def add_rank_prefix(text: str, entry: CorpusEntry, random: Random) -> str:  # noqa: ARG001
    """Put the prefix that a launcher gives to one rank in front of every line."""
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


def interleave_ranks(text: str, entry: CorpusEntry, random: Random) -> str:  # noqa: ARG001
    """Repeat the log for eight ranks, which write some lines in turn at random paces."""
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


def repeat_with_prefixes(text: str, entry: CorpusEntry, random: Random) -> str:  # noqa: ARG001
    """Repeat each line for eight ranks, each behind its prefix."""
    style = random.randrange(len(_PREFIXES))
    return "".join(_prefix(style, rank) + line for line in _lines(text) for rank in range(RANKS))


def repeat_without_prefixes(text: str, entry: CorpusEntry, random: Random) -> str:  # noqa: ARG001
    """Repeat each line for eight ranks, with nothing that names the rank."""
    return "".join(line for line in _lines(text) for _ in range(RANKS))


def add_colours(text: str, entry: CorpusEntry, random: Random) -> str:  # noqa: ARG001
    """Add the escape sequences of a terminal, around lines and inside them."""
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


def add_progress_bars(text: str, entry: CorpusEntry, random: Random) -> str:
    r"""Redraw a bar of tqdm with ``\r`` between lines, in front of a line, and at the end.

    After the first word about a failure the bar is drawn again, but does not move.  In a good run
    it moves to its end.
    """
    step = random.randrange(400, 2000)
    is_good = entry.cause == "none"
    written = []
    inside, moving = False, True
    for line in _lines(text):
        moving = is_good or (moving and not _FAILURE.search(line))
        if not inside and random.random() < 0.4:
            for _ in range(random.randrange(1, 4)):
                step += moving
                written.append(f"\r{noise.draw_bar(random, step)}")
            written.append("\n" if _PREFIXED.match(line) else random.choice(("", "\n")))
        written.append(line)
        inside = _continues(line, inside)
    last = range(noise.BAR_STEPS - 3, noise.BAR_STEPS + 1) if is_good else (step,)
    written += [*(f"\r{noise.draw_bar(random, one)}" for one in last), "\n"]
    return "".join(written)


_PREFIXED = re.compile(r"\[?[\w,-]+\d\]?(?:<\w+>)?:|\(\w+ pid=")
"""A launcher passes whole lines on, so none of them begins behind a bar."""

_WITHIN = re.compile(r"(?:\[?[\w@.,-]{1,40}\]?(?:<\w+>)?:)?(?:[ \t]{2,}|[ \t]*[|+]|\s*$)")
"""A line of a traceback: indented, boxed or empty, with or without a launcher's prefix."""


def _continues(line: str, inside: bool) -> bool:
    """Return True if *line* and the next one belong to one traceback, which is written at once."""
    return bool(_TRACEBACK.match(line)) or (inside and bool(_WITHIN.match(line)))


def add_timestamps(text: str, entry: CorpusEntry, random: Random) -> str:  # noqa: ARG001
    """Put times in front: those of a container runtime on every line, or those of loggers."""
    lines = _lines(text)
    if random.random() < 0.5:
        return "".join(
            f"{_time(n, 'T')}.{n * 7919 % 10**9:09}Z {line}" for n, line in enumerate(lines)
        )
    written = []
    inside = False
    for number, line in enumerate(lines):
        ends = inside  # the line after the last frame: the exception
        inside = _continues(line, inside)
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


def cut_first_third(text: str, entry: CorpusEntry, random: Random) -> str:  # noqa: ARG001
    """Drop the first third, up to the middle of a line, but no word about a failure."""
    first = _FAILURE.search(text)
    safe = text.rfind("\n", 0, first.start()) + 1 if first else len(text)
    return text[min(len(text) // 3, safe) :]


def cut_last_traceback(text: str, entry: CorpusEntry, random: Random) -> str:  # noqa: ARG001
    """Begin in the middle of the last traceback, if the log says nothing more before it."""
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


def replace_paths(text: str, entry: CorpusEntry, random: Random) -> str:  # noqa: ARG001
    """Move homes, workspaces and environments to other users' places."""
    homes = random.sample(_HOMES, len(_HOMES))
    seen: dict[str, str] = {}

    def moved(found: re.Match[str]) -> str:
        return seen.setdefault(found[0], homes[len(seen) % len(homes)])

    return _ROOTS.sub(moved, text)


def prepend_progress(text: str, entry: CorpusEntry, random: Random) -> str:  # noqa: ARG001
    """Put twenty thousand lines of successful training in front."""
    style = random.randrange(noise.PROGRESS_STYLES)
    return noise.write_progress(BENIGN_LINES, style).decode() + text


_NO_CASCADE = frozenset({"none", "idle_hang"})
"""A hang without collectives has none that could time out."""


def append_cascade(text: str, entry: CorpusEntry, random: Random) -> str:
    """Append the reports of the other ranks and of torchrun about the failure.

    Only for a run that failed and logged something: after exit code 0 no launcher reports a
    failure, and in an empty log the cascade would be the only evidence.
    """
    if entry.cause in _NO_CASCADE or not entry.exit_code or not text.strip():
        return text
    return "".join(_lines(text)) + noise.write_cascade(random, entry.exit_code, CASCADE_LINES)


CHANGES: Final[Mapping[str, Change]] = {
    "rank prefixes": add_rank_prefix,
    "eight ranks interleaved": interleave_ranks,
    "eight ranks in lockstep": repeat_with_prefixes,
    "eight ranks without prefixes": repeat_without_prefixes,
    "ANSI colours": add_colours,
    "progress bars": add_progress_bars,
    "timestamps": add_timestamps,
    "first third cut off": cut_first_third,
    "cut inside the last traceback": cut_last_traceback,
    "other users' paths": replace_paths,
    "20,000 benign lines before": prepend_progress,
    "200 lines of cascade after": append_cascade,
}
"""The changes in the order of the robustness table."""
