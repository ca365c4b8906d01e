# /// case
# cause = "too_many_files"
# paper_class = "traceback"
# exit_code = 1
# environment = "jax"
# ///
# The loader keeps a memory map of each shard open, more than the limit allows.
ulimit -n 64
cat > pretrain.py << 'PROGRAM'
import jax
import jax.numpy as jnp
import numpy as np
from absl import logging

logging.set_verbosity(logging.INFO)
for i in range(80):
    np.save(f"tokens_{i:03d}.npy", np.arange(i, i + 64, dtype=np.int32) % 50)
logging.info("wrote 80 shards")


@jax.jit
def step(table, tokens):
    def loss_fn(table):
        return jnp.mean((table[tokens[:-1]] - table[tokens[1:]]) ** 2)

    loss, grad = jax.value_and_grad(loss_fn)(table)
    return table - 0.5 * grad, loss


table = jax.random.normal(jax.random.key(0), (50, 8))
handles = []
for i in range(80):
    handles.append(open(f"tokens_{i:03d}.npy", "rb"))
    table, loss = step(table, np.load(handles[-1]))
    if i % 10 == 0:
        logging.info("shard %d loss %.5f", i, loss)
logging.info("done")
PROGRAM
python pretrain.py
