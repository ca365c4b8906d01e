"""Real trainings under torchrun that one rank leaves: the verdict names the rank and its end."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.supervised import PYTHON, Lab, until

TRAINING = Path(__file__).with_name("leaving_training.py")
_ENDS = {
    "killed": ("killed_unknown", "unknown", "Rank {last} was killed by"),
    "crashed": ("segfault", "job", "Native crash of rank {last}: Segmentation fault"),
    "left": ("collective", "job", "Rank {last} ended with exit status 0 while the other ranks"),
    "closed": ("collective", "job", "Rank {last} closed its connections while the other ranks"),
    "skipped": ("collective", "job", "Rank {last} "),
    "gave_up": ("runtime_error", "job", "Rank {last} ended with exit status 13 first"),
    "other_size": ("collective", "job", "The ranks called one collective with different sizes"),
}
"""Cause, attribution and headline of each end."""
_IN_CI = frozenset(("left",))
_SIZES = (2, 4, 8)


@pytest.mark.parametrize(
    ("end", "ranks"),
    [
        pytest.param(end, ranks, marks=pytest.mark.e2e if is_quick else pytest.mark.nightly)
        for end in _ENDS
        for ranks in (_SIZES if end != "other_size" else (2,))  # with more it hangs sometimes
        for is_quick in (end in _IN_CI and ranks == 2,)
    ],
)
def test_lost_rank(lab: Lab, monkeypatch: pytest.MonkeyPatch, end: str, ranks: int) -> None:
    """The rank that the others lost is named, with its end and whose fault it is."""
    launcher = (PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node")
    go = lab.home / "go"
    command = (*launcher, str(ranks), str(TRAINING), end, str(go))
    monkeypatch.setenv("GPUALERT_OBSERVE", "true")
    run = lab.launch(*command, options=("--streams", "merged"))
    telemetry = Path(run.record.path) / "telemetry.jsonl"

    def has_all_ranks() -> bool:
        text = telemetry.read_text() if telemetry.exists() else ""
        return all(f'"of":"rank:{rank}"' in text for rank in range(ranks))

    until(has_all_ranks, "the source to see all ranks", 120)
    go.touch()
    run.process.wait(180)
    verdict = lab.json("show")["verdict"]
    cause, attribution, headline = _ENDS[end]
    found = (verdict["cause"], verdict["attribution"])
    assert found == (cause, attribution), verdict
    assert verdict["headline"].startswith(headline.format(last=ranks - 1)), verdict
    if end != "other_size":
        assert [claim["rank"] for claim in verdict["shows"] if claim["source"] == "processes"] == [
            ranks - 1
        ]
