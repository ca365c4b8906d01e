# /// case
# cause = "pickling"
# paper_class = "traceback"
# exit_code = 1
# ///
"""A trainer that holds a lock and a socket cannot be pickled for submission."""

import socket
import threading

import submitit


class Trainer:
    def __init__(self, seed):
        self.seed = seed
        self.lock = threading.Lock()
        self.telemetry = socket.socket()

    def __call__(self, steps):
        return self.seed + steps


if __name__ == "__main__":
    executor = submitit.AutoExecutor(folder="logs", cluster="local")
    executor.update_parameters(timeout_min=1)
    jobs = [executor.submit(Trainer(seed), 10) for seed in range(3)]
    print([job.result() for job in jobs])
