# /// case
# cause = "runtime_error"
# paper_class = "runtime_error"
# exit_code = 1
# env = {RAY_USAGE_STATS_ENABLED = "0"}
# why = "the worker left without a trace: ray names no signal, and its list of causes is boilerplate"
# ///
"""A rollout worker is killed with SIGKILL, and ray reports ActorDiedError."""

import os
import signal
import time

import ray


@ray.remote(max_restarts=0)
class RolloutWorker:
    def pid(self):
        return os.getpid()

    def sample(self, step):
        time.sleep(0.2)
        return {"step": step, "reward": step * 0.5}


if __name__ == "__main__":
    ray.init(num_cpus=2, include_dashboard=False)
    workers = [RolloutWorker.remote() for _ in range(2)]
    pids = ray.get([worker.pid.remote() for worker in workers])
    for step in range(20):
        if step == 6 and os.fork() == 0:
            os.kill(pids[1], signal.SIGKILL)
            os._exit(0)
        batch = ray.get([worker.sample.remote(step) for worker in workers])
        print(
            f"[driver] step {step} mean reward {sum(b['reward'] for b in batch) / 2:.2f}",
            flush=True,
        )
