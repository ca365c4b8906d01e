"""Reading of records in a process whose signal handlers raise, and in one of many threads."""

from __future__ import annotations

import subprocess
import sys

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


_FIRST_CONVERSIONS = """
import sys, threading
from gpualert_common.structs import Struct, convert

sys.setswitchinterval(1e-6)
data = {f"g{i}": [{f"f{j}": 1 for j in range(20)}] for i in range(5)}


def make(number):
    inner = {f"f{i}": "int | None" for i in range(20)}
    globals()[f"Inner{number}"] = type("Inner", (Struct,), {"__annotations__": inner})
    outer = {f"g{i}": f"tuple[Inner{number}, ...]" for i in range(5)}
    return type("Outer", (Struct,), {"__annotations__": outer, "__module__": "__main__"})


def work(kind, barrier):
    barrier.wait()
    assert convert(data, kind).g0[0].f0 == 1


for number in range(60):
    arguments = make(number), threading.Barrier(8)
    threads = [threading.Thread(target=work, args=arguments) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


def test_first_conversion_by_several_threads() -> None:
    """Threads that are the first ones to convert to a class do not crash the process."""
    done = subprocess.run((sys.executable, "-c", _FIRST_CONVERSIONS), capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
