"""Reading of records in a process whose signal handlers raise."""

from __future__ import annotations

import subprocess
import sys

import pytest

from gpualert_common.jobs.digests.digest_codec import encode_file
from tests.jobs.composed_job import compose
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


FIRST_USES = """
import sys, threading

from gpualert_common.jobs.digests.digest import Digest
from gpualert_common.jobs.digests.digest_codec import decode_file

sys.setswitchinterval(1e-6)
barrier = threading.Barrier(16)
found = []

def read():
    barrier.wait()
    found.append(decode_file(Digest, sys.argv[1].encode()))

threads = [threading.Thread(target=read) for _ in range(16)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert len(found) == 16 and all(found)
"""


def test_first_use_of_a_class_by_many_threads() -> None:
    """Threads that read objects of one class at once, which nobody has read before, all get one."""
    digest = encode_file(compose(0)).decode()
    for _ in range(6):  # without the lock, each second process crashes
        subprocess.run([sys.executable, "-c", FIRST_USES, digest], check=True)
