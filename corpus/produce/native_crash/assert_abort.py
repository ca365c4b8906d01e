# /// case
# cause = "assertion"
# exit_code = -6
# needs = ["gcc"]
# why = "an assert() of a C library about its own logic; SIGABRT carries the message"
# ///
"""An assert() in a C library about its own bookkeeping fails and aborts."""

import ctypes
import subprocess
import sys

SOURCE = r"""
#include <assert.h>
static int depth = 0;
void arena_push(void) { depth++; }
void arena_pop(void) { assert(depth > 0 && "arena_pop without arena_push"); depth--; }
"""
open("arena.c", "w").write(SOURCE)
subprocess.run(["gcc", "-g", "-shared", "-fPIC", "arena.c", "-o", "arena.so"], check=True)
arena = ctypes.CDLL("./arena.so")


class scratch:
    def __enter__(self):
        arena.arena_push()

    def __exit__(self, kind, value, trace):
        arena.arena_pop()
        if kind is StopIteration:
            arena.arena_pop()
        return kind is StopIteration


def layers(depth):
    for i in range(depth):
        yield i * 1.5


source = layers(4)
total = 0.0
for step in range(6):
    with scratch():
        total += next(source)
    print(f"step {step} activation sum {total}", file=sys.stderr)
