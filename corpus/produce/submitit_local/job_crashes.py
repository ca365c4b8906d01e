# /// case
# cause = "segfault"
# exit_code = 1
# why = "faulthandler's stack in the job's log shows the native crash; the parent only misses a result"
# ///
"""A submitit job dies of a native crash, which only its stderr file shows."""

import ctypes
import faulthandler

import submitit


def render(frames):
    faulthandler.enable()
    for frame in range(frames):
        print("frame", frame, flush=True)
        if frame == 4:
            ctypes.string_at(24)
    return frames


if __name__ == "__main__":
    executor = submitit.LocalExecutor(folder="logs")
    executor.update_parameters(timeout_min=1)
    job = executor.submit(render, 10)
    try:
        print(job.result(), "frames")
    except Exception as error:
        print(type(error).__name__, error)
        raise SystemExit(1) from None
