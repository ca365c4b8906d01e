# /// case
# cause = "runtime_error"
# exit_code = 1
# ///
"""Gradient checkpointing over a frozen base whose inputs need no gradient."""

import warnings

import torch
from peft import LoraConfig, get_peft_model
from tqdm import tqdm
from transformers import LlamaConfig, LlamaForCausalLM

warnings.simplefilter("always")
torch.manual_seed(0)
config = LlamaConfig(
    vocab_size=128, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4
)
model = get_peft_model(
    LlamaForCausalLM(config), LoraConfig(r=4, target_modules=["q_proj"], task_type="CAUSAL_LM")
)
model.base_model.model.gradient_checkpointing_enable({"use_reentrant": True})
model._require_grads_hook = None
for hook in list(model.get_input_embeddings()._forward_hooks):
    model.get_input_embeddings()._forward_hooks.pop(hook)
model.print_trainable_parameters()
model.train()
optimizer = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=1e-4)
for _step in tqdm(range(20)):
    ids = torch.randint(0, 128, (4, 16))
    loss = model(input_ids=ids, labels=ids).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
