# /// case
# cause = "killed_unknown"
# paper_class = "traceback"
# exit_code = 1
# why = "joblib names SIGKILL; its sentence about memory is boilerplate"
# ///
"""joblib finds a worker killed by SIGKILL and guesses at memory."""

import os
import signal
import time

import numpy as np
from joblib import Parallel, delayed


def cross_validate(fold):
    rng = np.random.default_rng(fold)
    scores = [rng.random() for _ in range(100)]
    time.sleep(0.05)
    if fold == 17:
        os.kill(os.getpid(), signal.SIGKILL)
    return np.mean(scores)


if __name__ == "__main__":
    results = Parallel(n_jobs=2, verbose=10)(delayed(cross_validate)(fold) for fold in range(30))
    print("mean score", np.mean(results))
