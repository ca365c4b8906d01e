# /// case
# cause = "assertion"
# exit_code = 1
# environment = "jax"
# why = "the program compares its fast filter with a plain one, and they disagree; sizes and types fit"
# ///
"""Before the long training the fast filter is compared with a plain one, and the comparison fails."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

DECAY = 0.97


def plain(series):
    result, level = [], 0.0
    for value in series:
        level = DECAY * level + (1 - DECAY) * value
        result.append(level)
    return np.array(result)


@jax.jit
def fast(series):
    def combine(a, b):
        return a[0] * b[0], a[1] + b[0] * b[1]

    weights = jnp.full(series.shape, DECAY)
    return jax.lax.associative_scan(combine, (weights, (1 - DECAY) * series))[1]


@jax.jit
def loss_fn(w, series):
    trend = fast(series)
    guess = w[0] * series[:-1] + w[1] * trend[:-1]
    return jnp.mean((guess - series[1:]) ** 2)


def main():
    rng = np.random.default_rng(0)
    print("backend:", jax.default_backend(), "| x64:", jax.config.jax_enable_x64)
    w = jnp.array([0.5, 0.5])
    optimizer = optax.sgd(0.02)
    state = optimizer.init(w)
    for i in range(20):
        series = jnp.asarray(rng.normal(size=60).cumsum() * 0.1)
        loss, grad = jax.value_and_grad(loss_fn)(w, series)
        updates, state = optimizer.update(grad, state)
        w = optax.apply_updates(w, updates)
        if i % 5 == 4:
            print(f"smoke test {i + 1}/20 loss {loss:.5f}", flush=True)
    print("comparing the kernels on 3 series", flush=True)
    for length in (1, 64, 512):
        series = rng.normal(size=length)
        np.testing.assert_allclose(
            fast(jnp.asarray(series)), plain(series), rtol=1e-4, err_msg=f"length {length}"
        )
        print(f"length {length}: ok", flush=True)
    print("starting the training over 40 stores")


main()
