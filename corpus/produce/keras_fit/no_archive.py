# /// case
# cause = "checkpoint"
# paper_class = "traceback"
# exit_code = 1
# environment = "jax"
# env = {KERAS_BACKEND = "tensorflow"}
# command = "python {program} --resume runs/exp7/epoch-12.keras"
# why = "the model file to resume from is absent; Keras says it in a ValueError"
# ///
"""The checkpoint to resume from is not there."""

import argparse

import keras
import numpy as np

parser = argparse.ArgumentParser()
parser.add_argument("--resume")
parser.add_argument("--epochs", type=int, default=20)
args = parser.parse_args()
keras.mixed_precision.set_global_policy("mixed_bfloat16")
if args.resume:
    print("resuming from", args.resume)
    model = keras.saving.load_model(args.resume)
else:
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1, dtype="float32")])
    model.compile("sgd", "mse")
model.fit(np.random.rand(64, 4), np.random.rand(64), epochs=args.epochs)
