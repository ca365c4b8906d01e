# /// case
# cause = "none"
# exit_code = 0
# why = "the helpers are terminated on purpose when the work is done"
# ///
"""Helpers are terminated and killed on purpose at the end of a good run."""

import multiprocessing as mp
import signal
import time


def helper(kind):
    if kind == "profiler":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        time.sleep(0.1)


def main():
    helpers = [
        mp.Process(target=helper, args=(kind,), name=kind) for kind in ("sampler", "profiler")
    ]
    for process in helpers:
        process.start()
    loss = 1.0
    for epoch in range(5):
        time.sleep(0.1)
        loss *= 0.7
        print(f"epoch {epoch} loss {loss:.4f}", flush=True)
    print("training done, stopping helpers")
    for process in helpers:
        process.terminate()
        process.join(1)
        if process.is_alive():
            print(f"{process.name} did not react to SIGTERM, sending SIGKILL")
            process.kill()
            process.join()
        print(f"{process.name} exited with code {process.exitcode}")
    print("bye")


if __name__ == "__main__":
    main()
