# /// case
# cause = "dtype_mismatch"
# paper_class = "runtime_error"
# exit_code = 1
# ///
"""A bfloat16 base and a float32 value head meet without a cast."""

import torch
from peft import LoraConfig, get_peft_model
from torch import nn
from transformers import LlamaConfig, LlamaModel


class RewardModel(nn.Module):
    """Scores the last token."""

    def __init__(self, config):
        super().__init__()
        base = LlamaModel(config).to(torch.bfloat16)
        self.backbone = get_peft_model(base, LoraConfig(r=4, target_modules=["q_proj", "v_proj"]))
        self.score = nn.Linear(config.hidden_size, 1, bias=False)

    def forward(self, ids):
        hidden = self.backbone(input_ids=ids).last_hidden_state
        return self.score(hidden[:, -1])


config = LlamaConfig(
    vocab_size=128, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4
)
model = RewardModel(config)
print({str(p.dtype) for p in model.parameters()})
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for step in range(10):
    better, worse = model(torch.randint(0, 128, (2, 8))), model(torch.randint(0, 128, (2, 8)))
    loss = -nn.functional.logsigmoid(better - worse).mean()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
