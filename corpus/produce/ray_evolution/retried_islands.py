# /// case
# cause = "none"
# exit_code = 0
# timeout_s = 150
# why = "the task that died is retried and all generations are done"
# ///
"""A worker dies of a crash twice and is retried by ray; the evolution ends well."""

import os
import pathlib
import signal

import ray

ray.init(num_cpus=1, include_dashboard=False, logging_level="warning")


@ray.remote(max_retries=3)
def generation(n, marks):
    mark = pathlib.Path(marks, f"gen{n}")
    if n in (1, 2) and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGSEGV)
    return 1 - 0.5**n


marks = os.path.abspath(".")
for n in range(5):
    print(f"generation {n} best {ray.get(generation.remote(n, marks)):.4f}", flush=True)
print("evolution finished after 5 generations")
