# /// case
# cause = "dtype_mismatch"
# paper_class = "runtime_error"
# exit_code = 1
# environment = "hf4"
# ///
"""A frozen half-precision base and float adapters: a matrix product of two number types."""

import torch
from peft import LoraConfig, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
model = GPT2LMHeadModel(GPT2Config(vocab_size=64, n_embd=32, n_layer=2, n_head=2, n_positions=32))
model = get_peft_model(model, LoraConfig(r=4, target_modules=["c_attn"], fan_in_fan_out=True))
for name, parameter in model.named_parameters():
    if "lora_" not in name and "mlp.c_fc" in name:
        parameter.data = parameter.data.to(torch.bfloat16)
optimizer = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=1e-4)
model.print_trainable_parameters()
for step in range(20):
    ids = torch.randint(0, 64, (4, 16))
    loss = model(input_ids=ids, labels=ids).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print("step", step, "loss", round(loss.item(), 4))
