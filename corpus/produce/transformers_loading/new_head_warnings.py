# /// case
# cause = "none"
# exit_code = 0
# why = "warnings of missing and unexpected weights belong to every fine-tuning; training ran to its end"
# ///
"""Missing, unexpected and mismatched weights are warned of, and the fine-tuning succeeds."""

import torch
from transformers import AutoModelForTokenClassification, BertConfig, BertForMaskedLM
from transformers.utils import logging

logging.set_verbosity_warning()
config = BertConfig(vocab_size=50, hidden_size=32, num_hidden_layers=1, num_attention_heads=2)
BertForMaskedLM(config).save_pretrained("mlm")
model = AutoModelForTokenClassification.from_pretrained(
    "mlm", num_labels=7, max_position_embeddings=256, ignore_mismatched_sizes=True
)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
torch.manual_seed(0)
for step in range(40):
    ids = torch.randint(0, 50, (4, 8))
    loss = model(input_ids=ids, labels=ids % 7).loss
    if not torch.isfinite(loss):
        raise RuntimeError("loss is nan or inf")
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if step % 10 == 9:
        print(f"step {step + 1:3d}  loss {loss.item():.4f}  nan batches 0  skipped 0")
model.save_pretrained("ner")
print("saved to ner")
