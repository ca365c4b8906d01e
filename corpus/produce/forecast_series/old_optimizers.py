# /// case
# cause = "dependency"
# paper_class = "missing_module"
# exit_code = 1
# environment = "jax"
# why = "a module that this version of the installed jax no longer has: removed part of an installed package"
# ///
"""The optimizer comes from a module of older JAX versions that is gone."""

import argparse
import sys

import jax
import jax.numpy as jnp


def seasonal(key, n=480):
    t = jnp.arange(n)
    wave = jnp.sin(2 * jnp.pi * t / 24) + 0.3 * jnp.sin(2 * jnp.pi * t / 168)
    return wave + 0.1 * jax.random.normal(key, (n,))


def windows(series, width=48):
    rows = jnp.stack([series[i : i + width + 1] for i in range(len(series) - width)])
    return rows[:, :-1], rows[:, -1]


def warm_start(x, y, ridge=1e-2):
    """Closed form of the linear model, from which the training starts."""
    gram = x.T @ x + ridge * jnp.eye(x.shape[1])
    return jnp.linalg.solve(gram, x.T @ y)


def refine(w, x, y, steps, lr):
    from jax.experimental.optimizers import adam

    init, update, get = adam(lr)
    state = init(w)
    grad = jax.jit(jax.grad(lambda w: jnp.mean(jnp.abs(x @ w - y))))
    for i in range(steps):
        state = update(i, grad(get(state)), state)
    return get(state)


parser = argparse.ArgumentParser()
parser.add_argument("--refine-steps", type=int, default=200)
parser.add_argument("--lr", type=float, default=1e-3)
options = parser.parse_args()
print("jax", jax.__version__, "on", jax.devices()[0].platform, file=sys.stderr)
for site in range(4):
    x, y = windows(seasonal(jax.random.key(site)))
    w = warm_start(x, y)
    print(f"site {site}: ridge mae {jnp.mean(jnp.abs(x @ w - y)):.4f}", flush=True)
    if site == 2:
        print("site 2: residuals are heavy-tailed, refining with L1")
        w = refine(w, x, y, options.refine_steps, options.lr)
