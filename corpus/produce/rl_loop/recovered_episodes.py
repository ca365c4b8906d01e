# /// case
# cause = "none"
# exit_code = 0
# why = "failed episodes are logged with their tracebacks and played again; training ends well"
# ///
"""Failed episodes are logged with tracebacks and played again; the training ends well."""

import logging

import numpy as np

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
log = logging.getLogger("worlds")
rng = np.random.default_rng(8)


def play(theta):
    speed = rng.normal(3, 1)
    if speed > 4.4:
        raise RuntimeError(f"simulator diverged: constraint violation nan at t={rng.random():.3f}")
    return -abs(theta - 2) + rng.normal() * 0.01


theta, step, failures = 0.0, 0, 0
while step < 40:
    try:
        gain = play(theta + 0.1) - play(theta - 0.1)
    except RuntimeError:
        failures += 1
        log.exception("episode failed, restarting simulator (%d so far)", failures)
        continue
    theta += 0.1 * np.sign(gain)
    step += 1
    if step % 8 == 0:
        log.info("step %d theta %.3f return %.4f", step, theta, -abs(theta - 2))
log.info("training complete: 40 steps, %d simulator restarts", failures)
