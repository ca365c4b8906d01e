# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 1
# environment = "jax"
# why = "the warm-up of the settings is longer than the whole schedule of the short second stage"
# ///
"""The fine-tuning stage inherits a warm-up that is longer than all of its steps."""

import dataclasses
import pprint

import jax
import jax.numpy as jnp
import optax
from flax import nnx


@dataclasses.dataclass(frozen=True)
class Stage:
    name: str
    epochs: int
    peak: float
    warmup_steps: int = 120


STEPS_PER_EPOCH = 30
STAGES = [Stage("pretrain", 6, 3e-3), Stage("finetune", 2, 5e-4)]


class Mlp(nnx.Module):
    def __init__(self, rngs):
        self.inner = nnx.Linear(8, 32, rngs=rngs)
        self.outer = nnx.Linear(32, 1, rngs=rngs)

    def __call__(self, x):
        return self.outer(nnx.gelu(self.inner(x)))


@nnx.jit
def train_step(model, optimizer, x):
    loss, grads = nnx.value_and_grad(lambda m: jnp.square(m(x)[:, 0] - jnp.sin(x[:, 0])).mean())(
        model
    )
    optimizer.update(model, grads)
    return loss


def run(stage, model):
    pprint.pprint(dataclasses.asdict(stage))
    schedule = optax.warmup_cosine_decay_schedule(
        init_value=0.0,
        peak_value=stage.peak,
        warmup_steps=stage.warmup_steps,
        decay_steps=stage.epochs * STEPS_PER_EPOCH,
    )
    chain = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(schedule))
    optimizer = nnx.Optimizer(model, chain, wrt=nnx.Param)
    for step in range(stage.epochs * STEPS_PER_EPOCH):
        loss = train_step(model, optimizer, jax.random.normal(jax.random.key(step), (64, 8)))
        if (step + 1) % STEPS_PER_EPOCH == 0:
            print(
                f"[{stage.name}] epoch {(step + 1) // STEPS_PER_EPOCH} loss {loss:.5f}", flush=True
            )


model = Mlp(nnx.Rngs(0))
for stage in STAGES:
    run(stage, model)
