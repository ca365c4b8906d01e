"""The lease of an attempt, and its descriptors, when the guardian goes while they are used."""

from __future__ import annotations

import gc
import os
import time

import pytest

from gpualert_common.guardian import Attempt
from gpualert_common.guardian.lease import LeaseRenewer
from gpualert_common.record import Record
from tests.guardian.faces import attempt
from tests.supervised import Lab

LEASE_S = 1.0


def of_ended(lab: Lab) -> LeaseRenewer:
    """The keeper of an attempt whose guardian has gone."""
    face = attempt(lab)
    face.sees("started")
    record = Record.open(face.record().path)
    (lab.home / "go").touch()
    face.wait()
    return LeaseRenewer(record, Attempt(("task",), lease_s=LEASE_S), 0)


@pytest.mark.parametrize("use", ["close", "stop"])
def test_guardian_goes_while_it_is_used(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, use: str
) -> None:
    """The thread may end between the look at a descriptor and its use, and nothing comes of it."""
    keeper = of_ended(lab)
    write = os.eventfd_write

    def late(fd: int, value: int) -> None:
        time.sleep(LEASE_S)  # by then the lease was due, and there was nobody to renew it for
        write(fd, value)

    monkeypatch.setattr(os, "eventfd_write", late)
    if use == "close":
        keeper.close()
    else:
        keeper.stop({"because": "a test"}, None)
        keeper.close()


def test_descriptors_are_given_back(lab: Lab) -> None:
    """Each keeper that was closed leaves as many open as there were before it."""
    for _ in range(2):
        of_ended(lab).close()
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        of_ended(lab).close()
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) <= before
