# /// case
# cause = "device_mismatch"
# exit_code = 1
# environment = "hf4"
# ///
"""A prompt encoder of the user's own was not loaded with the rest and joins embeddings of another device."""

import torch
from torch import nn
from transformers import T5Config, T5ForConditionalGeneration, logging

logging.set_verbosity_info()
config = T5Config(
    vocab_size=100, d_model=16, d_kv=8, d_ff=32, num_layers=1, num_heads=2, decoder_start_token_id=0
)
model = T5ForConditionalGeneration(config)


class Prefix(nn.Module):
    def __init__(self, length, width):
        super().__init__()
        self.rows = nn.Parameter(torch.empty(length, width))

    def forward(self, embeds):
        rows = self.rows.unsqueeze(0).expand(len(embeds), -1, -1)
        return torch.cat((rows, embeds), dim=1)


with torch.device("meta"):
    prefix = Prefix(5, 16)
optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
for step in range(6):
    ids = torch.randint(2, 100, (4, 9))
    embeds = model.shared(ids)
    if step >= 4:
        embeds = prefix(embeds)
    loss = model(inputs_embeds=embeds, labels=ids).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print({"step": step, "loss": round(loss.item(), 4)}, flush=True)
