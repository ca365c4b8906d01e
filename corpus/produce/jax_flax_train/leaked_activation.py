# /// case
# cause = "traceback"
# exit_code = 1
# environment = "jax"
# why = "UnexpectedTracerError is a TypeError of JAX, so not runtime_error"
# ///
"""Activations are kept in a list from inside a jitted function and used outside."""

import logging

import jax
import jax.numpy as jnp

logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(name)s %(levelname)s %(message)s")
ACTIVATIONS = []


@jax.jit
def forward(w, x):
    h = jax.nn.silu(x @ w)
    ACTIVATIONS.append(h)
    return h.sum(-1)


@jax.jit
def update(w, x, y):
    loss, grad = jax.value_and_grad(lambda w: jnp.mean((forward(w, x) - y) ** 2))(w)
    return w - 0.01 * grad, loss


key = jax.random.key(7)
w = jax.random.normal(key, (12, 12)) * 0.1
x = jax.random.normal(key, (64, 12))
for step in range(20):
    w, loss = update(w, x, x[:, 0])
    if step % 5 == 0:
        print(f"iter {step:3d} | loss {loss:.6f}", flush=True)
sparsity = jnp.mean(jnp.stack(ACTIVATIONS) < 0)
print("share of negative activations:", sparsity)
