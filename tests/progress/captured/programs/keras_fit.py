# mypy: ignore-errors
"""A small regression with Keras's fit, as a terminal or as a log file would see it."""

import argparse
import glob
import os

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
import keras
import numpy as np

parser = argparse.ArgumentParser()
parser.add_argument("--output", default="out")
parser.add_argument("--epochs", type=int, default=4)
parser.add_argument("--rate", type=float, default=0.05)
parser.add_argument("--verbose", type=int, default=1)
parser.add_argument("--validate", action="store_true")
parser.add_argument("--checkpoint", action="store_true", help="ModelCheckpoint with verbose output")
parser.add_argument("--backup", action="store_true", help="BackupAndRestore, which is silent")
parser.add_argument("--stop-at", type=int, help="end as if the machine went down after this epoch")
parser.add_argument(
    "--resume", nargs="?", const="", help="from the folder's last checkpoint, if any"
)
parser.add_argument("--budget", type=int, help="end well, and silently, after this epoch")
parser.add_argument("--terminate", action="store_true", help="TerminateOnNaN")
options = parser.parse_args()

keras.utils.set_random_seed(0)
draw = np.random.default_rng(0)
inputs = draw.normal(size=(640, 8)).astype("float32")
target = inputs.sum(1, keepdims=True) + draw.normal(scale=0.3, size=(640, 1)).astype("float32")
model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(1)])
optimizer = keras.optimizers.SGD(options.rate)
model.compile(optimizer=optimizer, loss="mse", metrics=["mae"])


class Ends(keras.callbacks.Callback):
    """The machine goes down, or a budget is used up."""

    def on_epoch_end(self, epoch, logs=None):
        """Without a word."""
        if epoch + 1 == options.stop_at:
            os._exit(1)
        if epoch + 1 == options.budget:
            self.model.stop_training = True


callbacks = []
if options.backup:
    callbacks.append(keras.callbacks.BackupAndRestore(f"{options.output}/backup"))
if options.checkpoint:
    path = options.output + "/{epoch:03d}.keras"
    callbacks.append(keras.callbacks.ModelCheckpoint(path, verbose=1))
if options.terminate:
    callbacks.append(keras.callbacks.TerminateOnNaN())
callbacks.append(Ends())
initial = 0
folder = options.resume or options.output
kept = sorted(glob.glob(f"{folder}/*.keras")) if options.resume is not None else []
if kept:
    model = keras.models.load_model(kept[-1])
    initial = int(os.path.basename(kept[-1]).split(".")[0])
model.fit(
    inputs,
    target,
    batch_size=32,
    epochs=options.epochs,
    initial_epoch=initial,
    verbose=options.verbose,
    callbacks=callbacks,
    validation_data=(inputs[:128], target[:128]) if options.validate else None,
)
