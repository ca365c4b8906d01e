# /// case
# cause = "compile_error"
# paper_class = "traceback"
# exit_code = 1
# environment = "hf4"
# why = "dynamo cannot compile the forward method to one graph"
# ///
"""torch.compile with fullgraph meets code that it cannot trace."""

import torch
from torch import nn
from transformers import BertConfig, BertModel


class Tagger(nn.Module):
    """An encoder with a cache in a file, of all things."""

    def __init__(self, config):
        super().__init__()
        self.encoder, self.head = BertModel(config), nn.Linear(config.hidden_size, 9)

    def forward(self, ids):
        hidden = self.encoder(ids).last_hidden_state
        with open("activations.log", "a") as out:
            out.write(f"{hidden.mean().item():.4f}\n")
        return self.head(hidden)


config = BertConfig(vocab_size=32, hidden_size=32, num_hidden_layers=1, num_attention_heads=2)
model = torch.compile(Tagger(config), fullgraph=True, backend="eager")
optimizer = torch.optim.AdamW(model.parameters())
for step in range(10):
    logits = model(torch.randint(0, 32, (2, 8)))
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), torch.zeros(16, dtype=torch.long))
    loss.backward()
    optimizer.step()
    print(step, loss.item())
