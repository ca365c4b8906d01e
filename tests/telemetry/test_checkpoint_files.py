"""Tests of the source ``checkpoint_files``: checkpoints that a run writes, by its files."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpualert_common.record import Record
from gpualert_common.telemetry.source import ObservedRun, SourceEvent
from gpualert_common.telemetry.sources.checkpoint_files import CheckpointFiles
from tests.supervised import Lab, python

STEPS = 120
LOSSES = (
    "import math, pathlib\n"
    "print('start')\n"
    f"for step in range({STEPS}):\n"
    "    print(f'step {step}: loss {0.3 + 2 * math.exp(-step / 20):.4f}')\n"
)


def run(lab: Lab, body: str, *options: str, folder: Path) -> tuple[Record, dict[str, object]]:
    """Return the record and the verdict of a training with this line in its loop."""
    variables = lab.environment() | {"GPUALERT_OBSERVE": "true"}
    command = [*python(LOSSES + f"    {body}\n"), *options]
    lab.gpualert("run", "--cwd", str(folder), "--", *command, env=variables)
    (path,) = lab.records()
    record = Record.open(str(path))
    verdict = record.read_json("verdict.json")
    assert verdict is not None
    return record, verdict


@pytest.mark.parametrize(
    "body",
    [
        "pathlib.Path(f'ckpt_{step:05d}.pt').write_bytes(b'x')",
        "pathlib.Path(f'checkpoint-{step}').mkdir()",
        "p = pathlib.Path('runs/weights'); p.mkdir(parents=True, exist_ok=True); "
        + "[(p / f'{part}_{step}.pth').write_bytes(b'x') for part in ('net', 'optim')]",
        "pathlib.Path(f'model.ckpt-{step}.index').write_bytes(b'x')",
    ],
    ids=["files", "folders", "pairs in a folder", "TensorFlow"],
)
def test_a_checkpoint_for_each_step(body: str, lab: Lab, tmp_path: Path) -> None:
    """A checkpoint at each step without a line in the log is a save storm, by its files."""
    _record, verdict = run(lab, body, folder=tmp_path)
    assert verdict["cause"] == "save_storm"
    assert verdict["details"] == {"saves": STEPS, "steps": STEPS}
    assert "checkpoint_files" in str(verdict["shows"])


@pytest.mark.parametrize(
    "body",
    [
        "pathlib.Path(f'events.out.tfevents.{step}').write_bytes(b'x')",
        "pathlib.Path(f'log_{step}.txt').write_bytes(b'x')",
        "pathlib.Path(f'sample_{step}.png').write_bytes(b'x')",
        "pathlib.Path(f'data_{step}.pt').write_bytes(b'x')",
        "step % 20 or pathlib.Path(f'ckpt_{step}.pt').write_bytes(b'x')",
        "[pathlib.Path(f'trial_{n}_step_{step}.pt').write_bytes(b'x') for n in range(20) "
        + "if step % 20 == 0]",
    ],
    ids=["tensorboard", "logs", "images", "prepared data", "now and then", "parallel trials"],
)
def test_other_files(body: str, lab: Lab, tmp_path: Path) -> None:
    """Other files, checkpoints now and then, and those of parallel trials are no storm."""
    _record, verdict = run(lab, body, folder=tmp_path)
    assert verdict["cause"] == "none"


def test_checkpoints_from_before(lab: Lab, tmp_path: Path) -> None:
    """Checkpoints of an earlier run do not count, and a growing number is one event at a time."""
    for step in range(STEPS):
        (tmp_path / f"ckpt_{step}.pt").write_bytes(b"x")
    record, verdict = run(lab, "pass", folder=tmp_path)
    assert verdict["cause"] == "none"
    launched = record.spec.created_at
    source = CheckpointFiles(ObservedRun(record.run_id, 0, "", launched, record.path))
    assert list(source.sample()) == []
    source = CheckpointFiles(ObservedRun(record.run_id, 0, "", launched - 3600, record.path))
    (event,) = source.sample()
    assert isinstance(event, SourceEvent)
    assert event.fields["count"] == STEPS
