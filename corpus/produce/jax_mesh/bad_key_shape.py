# /// case
# cause = "shape_mismatch"
# paper_class = "traceback"
# exit_code = 1
# environment = "jax"
# ///
"""The relative bias of the attention was made for another number of heads."""

import jax
import jax.numpy as jnp


def attention(q, k, v, bias):
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / q.shape[-1] ** 0.5
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores + bias), v)


def run(heads, bias_heads, tokens):
    q, k, v = jax.random.normal(jax.random.key(heads), (3, 2, tokens, heads, 8))
    bias = jnp.zeros((bias_heads, tokens, tokens))
    return jax.jit(attention)(q, k, v, bias).mean()


for heads, bias_heads in ((4, 4), (8, 8), (12, 8)):
    print(f"heads={heads} out={run(heads, bias_heads, 16):.5f}", flush=True)
