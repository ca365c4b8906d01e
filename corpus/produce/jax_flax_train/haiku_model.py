# /// case
# cause = "missing_module"
# exit_code = 1
# environment = "jax"
# ///
"""The model library that a configuration names is not installed."""

import importlib
import logging

import jax

logging.basicConfig(level=logging.DEBUG, format="%(relativeCreated)6d %(levelname)s %(message)s")
logging.getLogger("jax").setLevel(logging.WARNING)
CONFIG = {"model": "haiku.nets.MLP", "widths": [64, 64, 10], "nan_policy": "raise"}


def resolve(dotted):
    module, _, name = dotted.rpartition(".")
    logging.info("loading %s from %s", name, module)
    try:
        return getattr(importlib.import_module(module), name)
    except ImportError:
        logging.exception("cannot build the model %s", dotted)
        raise SystemExit(1) from None


logging.info("devices %s", jax.devices())
model = resolve(CONFIG["model"])
print(model(CONFIG["widths"]))
