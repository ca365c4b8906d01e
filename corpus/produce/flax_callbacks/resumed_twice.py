# /// case
# cause = "none"
# exit_code = 0
# environment = "jax"
# why = "the first stage is stopped by its own signal and resumed, a callback's error and a bad state are passed over, all steps are made"
# ///
"""A run is interrupted by its own alarm, resumes past a corrupt state, and reaches its last step."""

import signal
import traceback
from pathlib import Path

import jax
import jax.numpy as jnp
import optax
from flax import linen as nn
from flax import serialization
from flax.training.train_state import TrainState


class Interrupted(Exception):
    pass


def on_alarm(number, frame):
    raise Interrupted("SIGALRM: killed by wall clock of the first stage (exit 137)")


class Gate:
    """Stops the stage at a step, as the batch system would."""

    def on_step(self, step, loss):
        if step == 130:
            signal.raise_signal(signal.SIGALRM)


class Plot:
    def on_step(self, step, loss):
        if step % 100 == 0:
            raise ImportError(
                "cannot import name 'pyplot': libGL.so.1: cannot open shared object file"
            )


model = nn.Sequential([nn.Dense(24), nn.tanh, nn.Dense(1)])
blank = TrainState.create(
    apply_fn=model.apply,
    params=model.init(jax.random.PRNGKey(0), jnp.ones((1, 4))),
    tx=optax.adamw(4e-3),
)


@jax.jit
def update(state, x):
    loss, grads = jax.value_and_grad(
        lambda p: jnp.square(state.apply_fn(p, x)[:, 0] - x[:, 0]).mean()
    )(state.params)
    return state.apply_gradients(grads=grads), loss


def restore():
    for path in sorted(Path("run").glob("step_*.msgpack"), reverse=True):
        try:
            state = serialization.from_bytes(blank, path.read_bytes())
            print(f"restored {path} at step {int(state.step)}", flush=True)
            return state
        except Exception as error:
            print(
                f"corrupt checkpoint {path} ({type(error).__name__}: {error}), trying an older one",
                flush=True,
            )
    print("no checkpoint, starting at step 0", flush=True)
    return blank


def stage(callbacks, last):
    state = restore()
    while int(state.step) < last:
        state, loss = update(state, jax.random.normal(jax.random.PRNGKey(int(state.step)), (32, 4)))
        step = int(state.step)
        if step % 50 == 0:
            print(f"step {step}/{last} loss {loss:.5f}", flush=True)
            Path(f"run/step_{step:05d}.msgpack").write_bytes(serialization.to_bytes(state))
        for callback in list(callbacks):
            try:
                callback.on_step(step, loss)
            except ImportError:
                traceback.print_exc()
                callbacks.remove(callback)
    print(f"training finished at step {step}", flush=True)


signal.signal(signal.SIGALRM, on_alarm)
Path("run").mkdir()
try:
    stage([Gate()], last=300)
except Interrupted as error:
    print(f"ERROR: {error}; resubmitting", flush=True)
    newest = Path("run/step_00100.msgpack")
    newest.write_bytes(newest.read_bytes()[:700])
stage([Plot()], last=300)
