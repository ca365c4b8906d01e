# /// case
# cause = "segfault"
# exit_code = 1
# why = "joblib names SIGSEGV, and faulthandler shows where"
# ///
"""joblib finds a worker that crashed in native code."""

import ctypes

from joblib import Parallel, delayed


def parse(record):
    buffer = ctypes.create_string_buffer(record.encode())
    if record.endswith("#11"):
        return ctypes.string_at(0x10)
    return ctypes.string_at(buffer)


def main():
    records = [f"sample text #{i}" for i in range(24)]
    parsed = Parallel(n_jobs=2, batch_size=4)(delayed(parse)(record) for record in records)
    print(len(parsed), "records parsed")


if __name__ == "__main__":
    main()
