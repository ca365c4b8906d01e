# /// case
# cause = "pickling"
# paper_class = "traceback"
# exit_code = 1
# why = "the learner's queue.Empty follows from the feeder thread of a worker that cannot pickle what it was given"
# ///
"""A worker puts a trajectory with a lazy part into the queue; its feeder thread fails, the learner starves."""

import multiprocessing as mp
import random
import time

import numpy as np


class Trajectory:
    def __init__(self, worker, length):
        self.worker = worker
        self.observations = (
            np.random.default_rng(worker).normal(size=(length, 4)).astype(np.float32)
        )
        self.rewards = [random.random() for _ in range(length)]
        self.returns = None

    def with_returns(self, gamma):
        self.returns = (r * gamma**i for i, r in enumerate(self.rewards))
        return self


def roll_out(worker, queue, rounds):
    random.seed(worker)
    for i in range(rounds):
        time.sleep(0.3)
        trajectory = Trajectory(worker, 16)
        queue.put(trajectory if i < 3 else trajectory.with_returns(0.99))


def main():
    context = mp.get_context("spawn")
    queue = context.Queue(maxsize=8)
    workers = [context.Process(target=roll_out, args=(i, queue, 16), daemon=True) for i in range(2)]
    for worker in workers:
        worker.start()
    weights = np.zeros(4, np.float32)
    for update in range(12):
        trajectory = queue.get(timeout=5 if update else 30)
        advantage = np.array(trajectory.rewards, np.float32) - np.mean(trajectory.rewards)
        weights += 0.1 * advantage @ trajectory.observations
        print(
            f"update {update} from worker {trajectory.worker} |w|={np.linalg.norm(weights):.3f}",
            flush=True,
        )
    print("done")


if __name__ == "__main__":
    main()
