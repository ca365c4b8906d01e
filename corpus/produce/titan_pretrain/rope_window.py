# /// case
# cause = "shape_mismatch"
# paper_class = "runtime_error"
# exit_code = 1
# command = "torchrun --standalone --nproc-per-node 2 {program} --seq-len 64 --eval-seq-len 96"
# why = "the evaluation feeds longer sequences than the rotary table has rows"
# ///
"""The training runs; the validation pass has sequences longer than the precomputed rotary table."""

import argparse
import logging

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

logging.basicConfig(
    level=logging.INFO, format="[titan] %(asctime)s - %(name)s - %(levelname)s - %(message)s"
)
logger = logging.getLogger()


def precompute_freqs(dim, end, theta=10000.0):
    freqs = 1.0 / (theta ** (torch.arange(0, dim, 2).float() / dim))
    return torch.polar(torch.ones(end, dim // 2), torch.outer(torch.arange(end), freqs))


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.wqkv = nn.Linear(dim, 3 * dim, bias=False)
        self.wo = nn.Linear(dim, dim, bias=False)

    def forward(self, x, freqs):
        b, s, d = x.shape
        q, k, v = self.wqkv(x).view(b, s, 3, self.heads, -1).unbind(2)
        q, k = (apply_rotary(one, freqs) for one in (q, k))
        q, k, v = (one.transpose(1, 2) for one in (q, k, v))
        out = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.wo(out.transpose(1, 2).reshape(b, s, d))


def apply_rotary(x, freqs):
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * freqs[None, :, None, :]).flatten(3).type_as(x)


class Transformer(nn.Module):
    def __init__(self, vocab, dim, layers, heads, max_seq_len):
        super().__init__()
        self.tok_embeddings = nn.Embedding(vocab, dim)
        self.register_buffer(
            "freqs_cis", precompute_freqs(dim // heads, max_seq_len), persistent=False
        )
        self.layers = nn.ModuleList(Attention(dim, heads) for _ in range(layers))
        self.output = nn.Linear(dim, vocab, bias=False)

    def forward(self, tokens):
        h = self.tok_embeddings(tokens)
        freqs = self.freqs_cis[: tokens.shape[1]]
        for layer in self.layers:
            h = h + layer(h, freqs)
        return self.output(h)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seq-len", type=int)
    parser.add_argument("--eval-seq-len", type=int)
    args = parser.parse_args()
    dist.init_process_group("gloo")
    torch.manual_seed(1)
    model = Transformer(64, 32, 2, 4, args.seq_len)
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for layer in model.layers:
        fully_shard(layer, mp_policy=policy)
    fully_shard(model, mp_policy=policy)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=True)
    logger.info("Applied FSDP to the model")
    for step in range(1, 21):
        ids = torch.randint(0, 64, (4, args.seq_len + 1))
        loss = nn.functional.cross_entropy(
            model(ids[:, :-1]).flatten(0, 1).float(), ids[:, 1:].flatten()
        )
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        if step % 5 == 0 and dist.get_rank() == 0:
            logger.info(f"step: {step:2}  loss: {loss.item():7.4f}")
    logger.info("Validation starts")
    with torch.no_grad():
        model(torch.randint(0, 64, (2, args.eval_seq_len)))
    dist.destroy_process_group()


main()
