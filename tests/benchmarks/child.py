"""The supervised program of the benchmarks; as fast at writing as one in C.

    child.py REPORT STATUS blocks BYTES            64 KiB blocks of lines, flat out
    child.py REPORT STATUS lines COUNT             one line per write, flat out
    child.py REPORT STATUS paced BYTES_S SECONDS   lines at a steady rate
    child.py REPORT STATUS endless BYTES           no newline anywhere
    child.py REPORT STATUS quiet SECONDS           one line of a training a second

REPORT is written last: when the writing began and when everything ended (CLOCK_MONOTONIC) and the
CPU it took.  A STATUS other than 0 ends it with a Python traceback, as a failing program would.
Started with ``python -I -S``, so that it imports next to nothing.
"""

import os
import sys
import time

LINE = (
    b"[epoch 3] step 120450/500000 loss 2.3417 lr 3.0e-04 grad_norm 0.87 "
    b"tokens/s 48213 mem 71.2 GiB eta 3:12"
)
LINE = LINE.ljust(104) + b"\n"
BLOCK = LINE * ((64 << 10) // len(LINE))
TRACEBACK = b"""Traceback (most recent call last):
  File "train.py", line 88, in <module>
    main()
  File "train.py", line 71, in main
    loss = model(batch)
  File "model.py", line 40, in forward
    return self.head(x) / x.norm()
ZeroDivisionError: division by zero
"""


def write_blocks(size: int, block: bytes = BLOCK) -> None:
    """Write about ``size`` bytes as fast as possible."""
    for _ in range(size // len(block)):
        view = memoryview(block)
        while view:
            view = view[os.write(1, view) :]


def write_lines(count: int) -> None:
    """Write each line by a separate call."""
    write, line = os.write, LINE
    for _ in range(count):
        write(1, line)


def write_paced(bytes_s: float, seconds: float) -> None:
    """Write lines so that after each hundredth of a second the rate is kept."""
    began = time.monotonic()
    written = 0
    while (age := time.monotonic() - began) < seconds:
        due = int(age * bytes_s) - written
        lines = LINE * (due // len(LINE))
        written += os.write(1, lines) if lines else 0
        time.sleep(0.01)


def write_quiet(seconds: int) -> None:
    """Write as most trainings do."""
    for step in range(1, seconds + 1):
        os.write(1, b"step %d loss %.4f\n" % (step, 9 / step))
        time.sleep(1)


def main(report: str, status: str, mode: str, *amounts: str) -> None:
    """Write the output of ``mode``, then the report, then exit at once."""
    out = os.open(report, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    began = time.monotonic_ns()
    if mode == "blocks":
        write_blocks(int(amounts[0]))
    elif mode == "lines":
        write_lines(int(amounts[0]))
    elif mode == "paced":
        write_paced(float(amounts[0]), float(amounts[1]))
    elif mode == "quiet":
        write_quiet(int(amounts[0]))
    else:
        write_blocks(int(amounts[0]), b"x" * (64 << 10))
    if status != "0":
        os.write(2, TRACEBACK)
    times = os.times()
    cpu_s = times.user + times.system
    text = f'{{"began_ns": {began}, "cpu_s": {cpu_s}, "ended_ns": {time.monotonic_ns()}}}'
    os.write(out, text.encode())
    os._exit(int(status))


if __name__ == "__main__":
    main(*sys.argv[1:])
