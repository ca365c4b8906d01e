# /// case
# cause = "config"
# paper_class = ""
# exit_code = 1
# environment = "jax"
# env = {XLA_FLAGS = "--xla_cpu_enable_fast_math=false --xla_gpu_enable_async_all_gather_v2=true"}
# why = "XLA aborts over an unknown flag: the option is invalid, not a native crash"
# ///
"""XLA_FLAGS holds an option that this XLA does not know."""

import logging
import os

import jax
import jax.numpy as jnp

logging.basicConfig(level=logging.INFO, format="[%(asctime)s] %(message)s", datefmt="%H:%M:%S")
logging.info("XLA_FLAGS=%s", os.environ.get("XLA_FLAGS"))
logging.info("starting training, jax %s", jax.__version__)
w = jnp.zeros((4,))
for step in range(10):
    w = w + 0.1
    logging.info("step %d %s", step, w.sum())
