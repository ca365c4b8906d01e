# /// case
# cause = "permission"
# exit_code = 1
# command = "setpriv --bounding-set=-dac_override,-dac_read_search,-fowner,-chown python {program}"
# needs = ["root"]
# ///
"""The lock file of the nightly job was left by another user, and may not be opened."""

import fcntl
import os
import sys

LOCK = "locks/nightly-features.lock"
os.makedirs("locks")
with open(LOCK, "w") as file:
    file.write("pid 2214 host batch03 user etl\n")
os.chmod(LOCK, 0o400)


class Lock:
    def __init__(self, path):
        self.path = path

    def __enter__(self):
        self.file = open(self.path, "r+")
        fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return self

    def __exit__(self, *_):
        self.file.close()


print("features 2026-02-11: waiting for", LOCK, file=sys.stderr)
with Lock(LOCK):
    print("aggregating 14 tables")
