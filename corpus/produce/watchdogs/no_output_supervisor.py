# /// case
# cause = "idle_hang"
# paper_class = ""
# exit_code = 143
# why = "the supervisor says that nothing was written for the allowed time, and then kills"
# ///
"""A supervisor kills its child because nothing was written for some time."""

import subprocess
import sys
import threading
import time

CHILD = """
import socket, time
listener = socket.create_server(("127.0.0.1", 0))
for step in range(400):
    print(f"iter {step:04d} | loss {1 / (1 + step):.4f} | tokens/s 10231", flush=True)
    time.sleep(0.05)
    if step == 25:
        print("syncing vocabulary with the feature service", flush=True)
        listener.accept()
"""


def main(limit_s=5.0):
    child = subprocess.Popen([sys.executable, "-c", CHILD], stdout=subprocess.PIPE, text=True)
    heard = [time.monotonic()]

    def relay():
        for line in child.stdout:
            heard[0] = time.monotonic()
            print(line, end="", flush=True)

    threading.Thread(target=relay, daemon=True).start()
    while child.poll() is None:
        time.sleep(0.2)
        if time.monotonic() - heard[0] > limit_s:
            print(
                f"supervisor: no output for {limit_s:.0f} s, job looks stalled; sending SIGTERM",
                flush=True,
            )
            child.terminate()
            try:
                child.wait(2)
            except subprocess.TimeoutExpired:
                child.kill()
            print(f"supervisor: child ended with {child.wait()}", flush=True)
            return 143
    return child.returncode


sys.exit(main())
