# /// case
# cause = "traceback"
# exit_code = 1
# environment = "jax"
# env = {KERAS_BACKEND = "jax"}
# why = "a Python branch on a traced value: a mistake of the program, nothing that a compiler failed at"
# ///
"""A helper decides with a Python if on the values of a picture, which works eagerly and not under jit."""

import jax
import jax.numpy as jnp
import keras
import numpy as np
import optax
from keras import layers

keras.utils.set_random_seed(5)


def auto_range(images):
    """Bring pictures that come as 0..255 to 0..1 and leave the others as they are."""
    if jnp.max(images) > 1.0:
        images = images / 255.0
    return images


rng = np.random.default_rng(5)
pictures = rng.integers(0, 256, (90, 14, 14, 3)).astype("float32")
labels = (pictures[..., 0].mean((1, 2)) > 127).astype("int32")
check = auto_range(pictures[:2])
print(f"range of the pictures: {check.min():.3f} .. {check.max():.3f}", flush=True)

model = keras.Sequential(
    [
        keras.Input((14, 14, 3)),
        layers.Conv2D(8, 3, activation="relu"),
        layers.GlobalAveragePooling2D(),
        layers.Dense(2),
    ]
)
optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-3))
weights = [v.value for v in model.trainable_variables]
state = optimizer.init(weights)
print(f"{model.count_params()} parameters, {len(weights)} arrays", flush=True)


def loss_of(weights, images, wanted):
    logits, _ = model.stateless_call(weights, [], auto_range(images))
    return optax.softmax_cross_entropy_with_integer_labels(logits, wanted).mean()


@jax.jit
def train_step(weights, state, images, wanted):
    loss, gradients = jax.value_and_grad(loss_of)(weights, images, wanted)
    updates, state = optimizer.update(gradients, state, weights)
    return optax.apply_updates(weights, updates), state, loss


for epoch in range(3):
    for start in range(0, 90, 30):
        batch = slice(start, start + 30)
        weights, state, loss = train_step(weights, state, pictures[batch], labels[batch])
    print(f"epoch {epoch} loss {loss:.4f}")
