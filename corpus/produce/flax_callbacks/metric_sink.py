# /// case
# cause = "filesystem_io"
# paper_class = "traceback"
# exit_code = 1
# environment = "jax"
# why = "the pipe into which the callback writes its metrics has lost its reader"
# ///
"""A callback streams metrics into a named pipe; the reader behind it ends, and the next write fails."""

import json
import os
import subprocess

import jax
import jax.numpy as jnp
import optax
from flax import nnx


class Sink:
    """One JSON line per epoch, unbuffered, for the plotting process."""

    def __init__(self, path):
        self.descriptor = os.open(path, os.O_WRONLY)

    def on_epoch_end(self, epoch, metrics):
        os.write(self.descriptor, (json.dumps({"epoch": epoch, **metrics}) + "\n").encode())


class Regressor(nnx.Module):
    def __init__(self, rngs):
        self.layer = nnx.Linear(4, 1, rngs=rngs)

    def __call__(self, x):
        return self.layer(x)


@nnx.jit
def train_step(model, optimizer, x):
    def loss_of(model):
        return jnp.abs(model(x)[:, 0] - x @ jnp.arange(4.0)).mean()

    loss, grads = nnx.value_and_grad(loss_of)(model)
    optimizer.update(model, grads)
    return loss


os.mkfifo("metrics.fifo")
plotter = subprocess.Popen(
    ["sh", "-c", "head -n 4 < metrics.fifo > curve.jsonl; echo plotter: four points, exiting"]
)
callbacks = [Sink("metrics.fifo")]
model = Regressor(nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(0.05), wrt=nnx.Param)
for epoch in range(10):
    for i in range(20):
        loss = train_step(
            model, optimizer, jax.random.normal(jax.random.key(epoch * 20 + i), (32, 4))
        )
    print(f"epoch {epoch}: loss={loss:.4f}", flush=True)
    if epoch == 4:
        plotter.wait()
    for callback in callbacks:
        callback.on_epoch_end(epoch, {"loss": float(loss)})
