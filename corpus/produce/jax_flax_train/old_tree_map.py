# /// case
# cause = "dependency"
# paper_class = "traceback"
# exit_code = 1
# environment = "jax"
# why = "a function that newer versions of JAX have removed"
# ///
"""The optimizer uses jax.tree_map, which this version of JAX no longer has."""

import jax
import jax.numpy as jnp


def sgd(params, grads, lr):
    return jax.tree_map(lambda p, g: p - lr * g, params, grads)


def loss_fn(params, x, y):
    return jnp.mean((x @ params["w"] + params["b"] - y) ** 2)


def main():
    print("running on", jax.local_devices())
    params = {"w": jnp.zeros(3), "b": jnp.zeros(())}
    x = jax.random.normal(jax.random.PRNGKey(42), (50, 3))
    y = x @ jnp.array([1.0, -2.0, 0.5]) + 0.1
    grad_fn = jax.jit(jax.value_and_grad(loss_fn))
    for epoch in range(100):
        loss, grads = grad_fn(params, x, y)
        if epoch % 10 == 0:
            print(f"Epoch {epoch}, loss {loss:.4f}")
        params = sgd(params, grads, lr=0.1)


if __name__ == "__main__":
    main()
