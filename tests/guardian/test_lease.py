"""The lease of an attempt, and its descriptors, when the guardian exits while they are in use."""

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
    """Return the lease renewer of an attempt whose guardian has exited."""
    face = attempt(lab)
    face.wait_for_line("started")
    record = Record.open(face.record().path)
    (lab.home / "go").touch()
    face.wait()
    return LeaseRenewer(record, Attempt(("task",), lease_s=LEASE_S), 0)


@pytest.mark.parametrize("use", ["close", "stop"])
def test_guardian_exits_during_use(lab: Lab, monkeypatch: pytest.MonkeyPatch, use: str) -> None:
    """The thread may end between the check of a descriptor and its use, without an error."""
    renewer = of_ended(lab)
    write = os.eventfd_write

    def late(fd: int, value: int) -> None:
        time.sleep(LEASE_S)  # by then the lease is due, and the guardian is gone
        write(fd, value)

    monkeypatch.setattr(os, "eventfd_write", late)
    if use == "close":
        renewer.close()
    else:
        renewer.stop({"because": "a test"}, None)
        renewer.close()


def test_descriptors_are_given_back(lab: Lab) -> None:
    """A closed renewer leaves no descriptor open."""
    for _ in range(2):
        of_ended(lab).close()
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        of_ended(lab).close()
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) <= before
