# /// case
# cause = "nan_loss"
# paper_class = "nan_loss"
# exit_code = 1
# why = "the logits of the model that sampling reads are NaN"
# ///
"""Sampling after training reads logits that are no numbers."""

import torch
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(7)
model = GPT2LMHeadModel(GPT2Config(vocab_size=100, n_embd=32, n_layer=2, n_head=2, n_positions=64))
optimizer = torch.optim.SGD(model.parameters(), lr=4e4, momentum=0.9)
for epoch in range(3):
    for _step in range(4):
        ids = torch.randint(0, 100, (8, 16))
        model(input_ids=ids, labels=ids).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print(f"epoch {epoch} finished, sampling")
    sample = model.generate(ids[:2, :4], do_sample=True, max_new_tokens=12, pad_token_id=0)
    print(sample.tolist())
