# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 1
# environment = "jax"
# command = "python {program} --workdir runs/exp1 --steps 40 --save-every 20"
# why = "the folder is given as a relative path, which the library does not accept: an invalid argument"
# ///
"""The work folder is given as a relative path."""

import argparse

import jax
import jax.numpy as jnp
import orbax.checkpoint as ocp

parser = argparse.ArgumentParser()
parser.add_argument("--workdir")
parser.add_argument("--steps", type=int)
parser.add_argument("--save-every", type=int)
args = parser.parse_args()
checkpointer = ocp.StandardCheckpointer()
grad = jax.jit(jax.value_and_grad(lambda w, x: jnp.mean((x @ w - 1.0) ** 2)))
w = jnp.zeros(6)
for step in range(1, args.steps + 1):
    loss, g = grad(w, jax.random.normal(jax.random.key(step), (32, 6)))
    w = w - 0.05 * g
    if step % 10 == 0:
        print(f"step {step} loss {loss:.5f}", flush=True)
    if step % args.save_every == 0:
        checkpointer.save(f"{args.workdir}/step_{step}", {"w": w})
