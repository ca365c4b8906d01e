"""For any files of a run, a message stays within its limit and accounts for every file."""

from __future__ import annotations

import random
import shutil
import tempfile
import time
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpualert_common.external_run import record_run
from gpualert_common.model import Bundle, Fate
from gpualert_common.notify.compose import compose
from gpualert_common.notify.message import Budget, Message
from gpualert_common.notify.mime import as_mail, fit_budget, fit_message
from gpualert_common.record import Record
from gpualert_common.spec import Ending

NAMES = st.text(alphabet="abc .-_äß損\u202e'\"<&%", min_size=1, max_size=20).filter(
    lambda name: not name.startswith(".") and name.strip() == name
)
ENDINGS = st.sampled_from([".json", ".csv", ".log", ".txt", ".png", ".pdf", ".pt", ".html"])
FILES = st.lists(
    st.tuples(NAMES, ENDINGS, st.integers(0, 60_000), st.sampled_from(["text", "same", "bytes"])),
    max_size=12,
    unique_by=lambda file: file[0] + file[1],
)
LINES = st.integers(0, 5_000)


def fill(path: Path, size: int, kind: str) -> None:
    """Write a file of that size: words, one repeated letter, or noise."""
    chance = random.Random(size)
    if kind == "bytes":
        path.write_bytes(chance.randbytes(size))
    elif kind == "same":
        path.write_bytes(b"x" * size)
    else:
        words = " ".join(f"{chance.random():.6f}" for _number in range(size // 9))
        path.write_text(words.replace("7 ", "7\n"))


def failed_run(place: Path, work: Path, lines: int) -> Record:
    """Return the record of a run in ``work`` that failed after that many lines."""
    ending = Ending(time.time() - 60.0, time.time())
    ending.code = 1
    log = b"".join(b"step %d of the training, <&> \xff\n" % number for number in range(lines))
    return record_run(ending, state_dir=str(place / "state"), log=log, cwd=str(work), name="job")


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(files=FILES, lines=LINES, limit=st.integers(4_000, 400_000), most=st.integers(0, 8))
def test_message_within_its_limit(
    files: list[tuple[str, str, int, str]], lines: int, limit: int, most: int
) -> None:
    """No mail exceeds its limit, and the manifest has each file once, with its fate."""
    place = Path(tempfile.mkdtemp(prefix="budget-"))
    try:
        work = place / "work"
        work.mkdir()
        for name, ending, size, kind in files:
            fill(work / f"{name}{ending}", size, kind)
        record = failed_run(place, work, lines)
        bundles: list[Bundle] = []

        def composed(budget: Budget) -> Message:
            message, bundle = compose(record, budget, [])
            assert len(message.text.encode()) <= budget.text_bytes
            assert message.html is None or len(message.html.encode()) <= budget.html_bytes
            assert len(message.attachments) <= budget.files
            assert sum(len(file.content) for file in message.attachments) <= budget.files_bytes
            bundles.append(bundle)
            return message

        budget = fit_budget(Budget(64_000, 90_000, limit, limit, most), limit)
        message, mail = fit_message(
            composed, budget, limit, lambda made: as_mail(made, "a@example.org", ["b@example.org"])
        )
        assert len(mail) <= limit
        bundle = bundles[-1]
        assert sorted(Path(row.path).name for row in bundle.artifacts) == sorted(
            f"{name}{ending}" for name, ending, _size, _kind in files
        )
        carried = [row for row in bundle.artifacts if row.sent_bytes]
        logs = 1 if lines and message.attachments else 0
        assert len(message.attachments) - logs == len(bundle.attachments)
        assert sum(row.sent_bytes for row in carried) == sum(
            len(file.content) for file in bundle.attachments
        )
        assert all(row.why or row.fate is Fate.ATTACHED for row in bundle.artifacts), bundle
    finally:
        shutil.rmtree(place)
