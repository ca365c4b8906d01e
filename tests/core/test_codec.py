"""Reading of records in a process whose signal handlers raise."""

from __future__ import annotations

import pytest

from tests.supervised import Lab, python

DECODED = """
import importlib.abc, os, signal, sys

class Interrupted(BaseException):
    pass

def interrupt(*_):
    raise Interrupted

class Interrupter(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[1]:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGALRM)

signal.signal(signal.SIGALRM, interrupt)
assert sys.argv[1] not in sys.modules
sys.meta_path.insert(0, Interrupter())
try:
    from gpualert_common.launch_record import Owner
except Interrupted:
    print("interrupted")
from gpualert_common.codec import decode
from gpualert_common.launch_record import Owner
print(decode(Owner, {"owner": "b"}, "test")["owner"])
"""


@pytest.mark.parametrize("module", ["msgspec", "msgspec._core", "datetime", "_datetime", "uuid"])
def test_interrupted_import(lab: Lab, module: str) -> None:
    """A handler that raises while data classes are imported breaks neither them nor the decoder."""
    done = lab.call((*python(DECODED), module))
    assert (done.returncode, done.stdout.split()) == (0, [b"interrupted", b"b"]), done.stderr
