# /// case
# cause = "filesystem_io"
# paper_class = "traceback"
# exit_code = 120
# command = "bash -c 'set -o pipefail; (python {program}; echo \"features.py left with $?\" >&2; exit 120) | head -n 4'"
# why = "the reader of the output is gone, writing fails with a broken pipe"
# ///
"""The output goes into a pipe whose reader leaves after a few lines."""

import sys
import time

for step in range(2000):
    sys.stdout.write(f"row block {step} hashed, {step * 512} rows, nulls 0\n")
    if step % 20 == 0:
        sys.stdout.flush()
        time.sleep(0.002)
