# /// case
# cause = "config"
# paper_class = "assertion"
# exit_code = 1
# why = "sizes that do not divide, said by an assertion of the library"
# ///
"""The width of the model is not a multiple of the number of heads."""

import argparse

import torch
from torch import nn


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--d-model", type=int, default=100)
    p.add_argument("--n-head", type=int, default=8)
    p.add_argument("--n-layer", type=int, default=2)
    p.add_argument("--block-size", type=int, default=64)
    p.add_argument("--max-iters", type=int, default=2000)
    return p.parse_args()


args = get_args()
print("=" * 60)
for key, value in sorted(vars(args).items()):
    print(f"{key:>12} {value}")
print("=" * 60)
layer = nn.TransformerEncoderLayer(args.d_model, args.n_head, 4 * args.d_model, batch_first=True)
model = nn.TransformerEncoder(layer, args.n_layer)
x = torch.randn(2, args.block_size, args.d_model)
for it in range(args.max_iters):
    print(it, model(x).mean().item())
