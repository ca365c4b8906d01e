# /// case
# cause = "killed_unknown"
# paper_class = ""
# exit_code = -9
# environment = "jax"
# stop = {signal = "KILL", when = "step 300"}
# ///
"""The training is ended by SIGKILL between two checkpoints, without a word."""

import time
from pathlib import Path

import jax
import jax.numpy as jnp
import optax
import orbax.checkpoint as ocp

tx = optax.adamw(optax.warmup_cosine_decay_schedule(0.0, 1e-2, 100, 2000))


@jax.jit
def train_step(params, opt_state, key):
    def loss_fn(p):
        x = jax.random.normal(key, (64, 12))
        return jnp.mean((jnp.tanh(x @ p["a"]) @ p["b"] - x.sum(1, keepdims=True)) ** 2)

    loss, grads = jax.value_and_grad(loss_fn)(params)
    updates, opt_state = tx.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state, loss


ka, kb = jax.random.split(jax.random.key(8))
params = {"a": jax.random.normal(ka, (12, 24)) * 0.2, "b": jax.random.normal(kb, (24, 1)) * 0.2}
opt_state = tx.init(params)
checkpointer = ocp.AsyncCheckpointer(ocp.StandardCheckpointHandler())
for step in range(1, 2001):
    params, opt_state, loss = train_step(params, opt_state, jax.random.key(step))
    if step % 50 == 0:
        print(f"{time.strftime('%H:%M:%S')} step {step} loss {loss:.5f}", flush=True)
    if step % 200 == 0:
        checkpointer.save(Path.cwd() / f"ckpt/{step}", args=ocp.args.StandardSave(params))
        print(f"checkpoint {step} committed", flush=True)
    time.sleep(0.01)
