# /// case
# cause = "time_limit"
# paper_class = "traceback"
# exit_code = 1
# why = "the program's own wall-clock budget, raised by an alarm while it was making progress"
# ///
"""The program's own alarm ends it when its budget of seconds is over."""

import signal
import time
from contextlib import contextmanager

from tqdm import tqdm


class WallTimeExceededError(Exception):
    pass


@contextmanager
def budget(seconds):
    def over(number, frame):
        raise WallTimeExceededError(f"wall time budget of {seconds} s exceeded")

    signal.signal(signal.SIGALRM, over)
    signal.alarm(seconds)
    yield
    signal.alarm(0)


def main():
    with budget(5):
        for epoch in range(10):
            for _ in tqdm(range(20), desc=f"epoch {epoch}", mininterval=0.5):
                time.sleep(0.08)


main()
