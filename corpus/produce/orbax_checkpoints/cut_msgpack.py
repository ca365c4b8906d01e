# /// case
# cause = "checkpoint"
# paper_class = "traceback"
# exit_code = 1
# environment = "jax"
# why = "the file of parameters is cut off"
# ///
"""The file of parameters written with flax.serialization is cut off."""

import os
import pickle
import time

import flax.linen as nn
import jax
import jax.numpy as jnp
from flax import serialization

model = nn.Sequential([nn.Dense(32), nn.relu, nn.Dense(4)])
params = model.init(jax.random.key(0), jnp.ones((1, 10)))
with open("params.msgpack", "wb") as out:
    out.write(serialization.to_bytes(params))
with open("meta.pkl", "wb") as out:
    pickle.dump({"step": 4000, "time": time.time()}, out)
os.truncate("params.msgpack", 1500)
with open("meta.pkl", "rb") as file:
    print("resuming at step", pickle.load(file)["step"])
with open("params.msgpack", "rb") as file:
    params = serialization.from_bytes(params, file.read())
print("restored; evaluating")
print(model.apply(params, jnp.ones((2, 10))))
