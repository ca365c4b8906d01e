# /// case
# cause = "host_oom"
# exit_code = 1
# command = "bash -c 'ulimit -v 700000; python {program}'"
# why = "a MemoryError without any text"
# ///
"""A large text file is read into one string under a limit of memory; only the name of the exception is printed."""

import gc
import os


def write(path, mib):
    with open(path, "wb") as out:
        for _ in range(mib):
            out.write(b"event,user,1\n" * (1 << 16) + b"\n")


def vocabulary(path):
    with open(path, encoding="utf-8") as file:
        return len(set(file.read().replace("\n", ",").split(",")))


for mib in (1, 4, 400):
    write("events.csv", mib)
    print(f"reading events.csv ({os.path.getsize('events.csv') >> 20} MiB)", flush=True)
    print("distinct values:", vocabulary("events.csv"), flush=True)
    gc.collect()
