# /// case
# cause = "compile_error"
# paper_class = "runtime_error"
# exit_code = 1
# environment = "jax"
# why = "XLA cannot compile the step because no kernel of that name is registered for this platform"
# ///
"""The fused layer norm is a custom call whose kernel is registered only where the extension was loaded."""

import logging
import sys

import jax
import jax.numpy as jnp
import optax
from flax import linen as nn

logging.basicConfig(
    stream=sys.stdout, level=logging.INFO, format="%(asctime)s %(filename)s:%(lineno)d %(message)s"
)


def fused_norm(x):
    call = jax.ffi.ffi_call("cpp_fused_rms_norm", jax.ShapeDtypeStruct(x.shape, x.dtype))
    return call(jax.lax.stop_gradient(x), eps=1e-6)


class Net(nn.Module):
    fused: bool

    @nn.compact
    def __call__(self, x):
        x = nn.Dense(32)(x)
        x = x + fused_norm(x) if self.fused else nn.RMSNorm()(x)
        return nn.Dense(4)(nn.silu(x))


class Stage:
    def __init__(self, fused):
        self.model = Net(fused)
        self.optimizer = optax.adamw(1e-3)

    def fit(self, steps):
        key = jax.random.PRNGKey(0)
        params = Net(fused=False).init(key, jnp.ones((1, 16)))
        params = {
            "params": {
                k: v for k, v in params["params"].items() if "Dense" in k or not self.model.fused
            }
        }
        state = self.optimizer.init(params)

        @jax.jit
        def step(params, state, key):
            x = jax.random.normal(key, (64, 16))
            loss, grads = jax.value_and_grad(
                lambda p: jnp.square(self.model.apply(p, x) - x[:, :4]).mean()
            )(params)
            updates, state = self.optimizer.update(grads, state, params)
            return optax.apply_updates(params, updates), state, loss

        for i in range(1, steps + 1):
            params, state, loss = step(params, state, jax.random.fold_in(key, i))
            if i % 25 == 0:
                logging.info("fused=%s step=%d loss=%.4f", self.model.fused, i, loss)


logging.info("devices: %s", jax.devices())
Stage(fused=False).fit(100)
logging.info("baseline done, same run with the fused kernel")
Stage(fused=True).fit(100)
