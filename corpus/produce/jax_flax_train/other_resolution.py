# /// case
# cause = "shape_mismatch"
# paper_class = "traceback"
# exit_code = 1
# environment = "jax"
# why = "flax says that a parameter's shape does not fit the input: in the computation, not on loading"
# ///
"""The evaluation images are larger than those the parameters were initialized with."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from absl import app, flags, logging
from flax.training import train_state

FLAGS = flags.FLAGS
flags.DEFINE_integer("eval_size", 40, "Side of the evaluation images.")
flags.DEFINE_integer("steps", 12, "Training steps.")


class Cnn(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.relu(nn.Conv(8, (3, 3))(x))
        x = nn.avg_pool(x, (2, 2), strides=(2, 2))
        x = x.reshape((x.shape[0], -1))
        return nn.Dense(10)(nn.relu(nn.Dense(64)(x)))


@jax.jit
def train_step(state, x, y):
    def loss_fn(params):
        logits = state.apply_fn({"params": params}, x)
        return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()

    loss, grads = jax.value_and_grad(loss_fn)(state.params)
    return state.apply_gradients(grads=grads), loss


def main(_):
    logging.set_verbosity(logging.INFO)
    rng = jax.random.key(0)
    model = Cnn()
    variables = model.init(rng, jnp.zeros((1, 32, 32, 3)))
    state = train_state.TrainState.create(
        apply_fn=model.apply, params=variables["params"], tx=optax.adam(1e-3)
    )
    for step in range(1, FLAGS.steps + 1):
        rng, k = jax.random.split(rng)
        x, y = jax.random.uniform(k, (16, 32, 32, 3)), jax.random.randint(k, (16,), 0, 10)
        state, loss = train_step(state, x, y)
        if step % 4 == 0:
            logging.info("step %d: loss=%.4f", step, loss)
    logging.info("evaluation at %dx%d", FLAGS.eval_size, FLAGS.eval_size)
    side = FLAGS.eval_size
    logits = model.apply({"params": state.params}, jnp.zeros((4, side, side, 3)))
    logging.info("eval logits %s", logits.shape)


app.run(main)
