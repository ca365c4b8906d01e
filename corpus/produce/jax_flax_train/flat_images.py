# /// case
# cause = "shape_mismatch"
# paper_class = "traceback"
# exit_code = 1
# environment = "jax"
# ///
"""The weights are made for 784 inputs, the batches keep their rows of 28."""

import jax
import jax.numpy as jnp


def init(key, sizes):
    keys = jax.random.split(key, len(sizes))
    return [
        {"w": jax.random.normal(k, (m, n)) * 0.05, "b": jnp.zeros(n)}
        for k, m, n in zip(keys, sizes[:-1], sizes[1:])
    ]


def predict(params, x):
    for layer in params[:-1]:
        x = jax.nn.relu(x @ layer["w"] + layer["b"])
    return x @ params[-1]["w"] + params[-1]["b"]


def loss_fn(params, x, y):
    logp = jax.nn.log_softmax(predict(params, x))
    return -jnp.mean(jnp.take_along_axis(logp, y[:, None], axis=1))


@jax.jit
def update(params, x, y, lr):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    return jax.tree.map(lambda p, g: p - lr * g, params, grads), loss


key = jax.random.key(0)
params = init(key, [784, 128, 10])
print("devices:", jax.devices())
print("parameters:", sum(p.size for p in jax.tree.leaves(params)))
for step in range(100):
    key, k1, k2 = jax.random.split(key, 3)
    images = jax.random.uniform(k1, (32, 28, 28))
    labels = jax.random.randint(k2, (32,), 0, 10)
    params, loss = update(params, images, labels, 0.1)
    print(f"step {step} loss {loss:.4f}")
