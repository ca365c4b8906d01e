# /// case
# cause = "time_limit"
# paper_class = "traceback"
# exit_code = 1
# environment = "jax"
# why = "our own limit for one window of the backtest; the window was still making progress"
# ///
"""A backtest gives every window a number of seconds, and the longest history does not get ready in it."""

import logging
import subprocess
import sys
from pathlib import Path

logging.basicConfig(level=logging.INFO, format="%(asctime)s backtest %(levelname)s: %(message)s")
WINDOW = """
import sys, time
import jax, jax.numpy as jnp, optax

n = int(sys.argv[1])
t = jnp.arange(n) / 24.0
y = jnp.sin(t * 6.28) + 0.1 * jax.random.normal(jax.random.key(0), (n,))
params = {"w": jnp.zeros(9), "b": 0.0}
rows = jnp.stack([y[i : n - 9 + i] for i in range(9)], 1)
optimizer = optax.adam(0.05)
state = optimizer.init(params)


@jax.jit
def step(params, state):
    loss, g = jax.value_and_grad(lambda p: jnp.mean((rows @ p["w"] + p["b"] - y[9:]) ** 2))(params)
    updates, state = optimizer.update(g, state)
    return optax.apply_updates(params, updates), state, loss


for i in range(1, n // 10 + 1):
    params, state, loss = step(params, state)
    time.sleep(0.01)
    if i % 50 == 0:
        print(f"  window {n}: iteration {i}/{n // 10} mse {loss:.4f}", flush=True)
"""


def backtest(lengths, limit_s):
    Path("window.py").write_text(WINDOW)
    for n in lengths:
        logging.info("window of %d hours, limit %d s", n, limit_s)
        subprocess.run([sys.executable, "window.py", str(n)], check=True, timeout=limit_s)
        logging.info("window of %d hours ready", n)


backtest([500, 1500, 40000], limit_s=8)
logging.info("all windows ready")
