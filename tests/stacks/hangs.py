"""Hangs of supervised runs, by the dumps of the command `gpualert stacks`."""

from __future__ import annotations

import json

from gpualert_common.codec import decode
from gpualert_common.stacks.dump import Dump
from gpualert_common.stacks.reasons import HangExplanation, HangReason, explain_hang
from tests.supervised import Lab, until


def take(lab: Lab) -> Dump:
    """Return the stacks of the run by the command."""
    done = lab.gpualert("stacks", "--json")
    (value,) = json.loads(done.stdout)["dumps"]
    return decode(Dump, value, "stacks")


def explain(lab: Lab, reason: HangReason) -> HangExplanation:
    """Return the explanation of two dumps once it has that reason."""
    first = take(lab)

    def is_there() -> HangExplanation | None:
        found = explain_hang(take(lab), first)
        return found if found is not None and found.reason is reason else None

    return until(is_there, f"a hang by {reason}", poll_s=0.3)


def stop(lab: Lab) -> None:
    """End the run at once."""
    lab.gpualert("stop", "--grace", "0s")
