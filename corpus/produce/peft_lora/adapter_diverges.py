# /// case
# cause = "nan_loss"
# exit_code = 1
# ///
"""A plain loop over a LoRA model stops itself when the loss is no number."""

import sys

import torch
from peft import LoraConfig, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(4)
model = GPT2LMHeadModel(GPT2Config(vocab_size=100, n_embd=32, n_layer=2, n_head=2, n_positions=32))
model = get_peft_model(
    model, LoraConfig(r=8, lora_alpha=4096, target_modules=["c_attn"], fan_in_fan_out=True)
)
model.print_trainable_parameters()
optimizer = torch.optim.SGD((p for p in model.parameters() if p.requires_grad), lr=2.0e7)
ema = None
for step in range(1, 201):
    ids = torch.randint(0, 100, (8, 16))
    loss = model(input_ids=ids, labels=ids).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    ema = loss.item() if ema is None else 0.9 * ema + 0.1 * loss.item()
    print(f"[{step:4d}/200] loss {loss.item():8.4f} ema {ema:8.4f} lr 2.0e+07", flush=True)
    if not torch.isfinite(loss):
        print("Loss is nan, stopping training", file=sys.stderr)
        sys.exit(1)
