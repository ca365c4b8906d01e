# /// case
# cause = "cancelled"
# paper_class = ""
# exit_code = 130
# command = "python -c \"import signal, os, sys; signal.signal(signal.SIGINT, signal.default_int_handler); exec(compile(open('{program}').read(), '{program}', 'exec'))\""
# stop = { signal = "INT", when = "block 6" }
# why = "Ctrl-C, handled by the program, which leaves with 130"
# ///
"""Ctrl-C in alternating least squares: the factors are kept and the program leaves with 130."""

import sys
import time

import numpy as np

rng = np.random.default_rng(0)
ratings = rng.random((80, 60))
users, items = rng.random((80, 5)), rng.random((60, 5))
try:
    for block in range(600):
        users = ratings @ items @ np.linalg.inv(items.T @ items + 0.1 * np.eye(5))
        items = ratings.T @ users @ np.linalg.inv(users.T @ users + 0.1 * np.eye(5))
        error = np.sqrt(np.mean((ratings - users @ items.T) ** 2))
        print(f"block {block} rmse {error:.5f}", flush=True)
        time.sleep(0.2)
except KeyboardInterrupt:
    np.savez("factors.npz", users=users, items=items)
    print("interrupted, factors.npz written after block", block)
    sys.exit(130)
