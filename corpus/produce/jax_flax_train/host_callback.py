# /// case
# cause = "traceback"
# exit_code = 1
# environment = "jax"
# why = "XLA's INTERNAL error wraps the KeyError of the program's callback"
# ///
"""A callback on the host looks up a reward table that has no such key."""

import jax
import jax.numpy as jnp
import numpy as np

REWARDS = {0: -1.0, 1: 0.0, 2: 0.5, 3: 1.0}


def lookup(actions):
    return np.array([REWARDS[int(a)] for a in actions], dtype=np.float32)


@jax.jit
def step(theta, key):
    logits = jnp.broadcast_to(theta, (16, theta.shape[0]))
    actions = jax.random.categorical(key, logits)
    shape = jax.ShapeDtypeStruct((16,), jnp.float32)
    reward = jax.pure_callback(lookup, shape, actions, vmap_method="sequential")

    def surrogate(theta):
        return -jnp.mean(jax.nn.log_softmax(theta)[actions] * reward)

    return theta - 0.3 * jax.grad(surrogate)(theta), reward.mean()


theta = jnp.array([0.0, 0.0, 0.0, 0.0, -4.5])
for i in range(200):
    theta, reward = step(theta, jax.random.key(i))
    print(f"episode {i:3d} mean reward {float(reward):+.3f}", flush=True)
