# /// case
# cause = "time_limit"
# paper_class = "traceback"
# exit_code = 1
# environment = "jax"
# why = "the program's own limit on the time ends it before its steps are done"
# ///
"""The program's own alarm ends the run before its last step."""

import signal
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import orbax.checkpoint as ocp


class WallClockExceeded(Exception):
    pass


def on_alarm(signum, frame):
    raise WallClockExceeded("wall clock budget of 6 s used up")


signal.signal(signal.SIGALRM, on_alarm)
signal.alarm(6)
checkpointer = ocp.StandardCheckpointer()
w = jnp.ones((32, 32)) * 0.1
step_fn = jax.jit(lambda w: w - 0.01 * jnp.tanh(w))
try:
    for step in range(1, 50_001):
        w = step_fn(w)
        time.sleep(0.005)
        if step % 100 == 0:
            print(f"step {step}/50000 |w| {jnp.abs(w).mean():.5f}", flush=True)
except WallClockExceeded:
    checkpointer.save(Path.cwd() / f"emergency_{step}", {"w": w})
    checkpointer.wait_until_finished()
    print(f"saved emergency_{step} of 50000 steps", flush=True)
    raise
