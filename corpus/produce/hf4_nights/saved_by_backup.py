# /// case
# cause = "none"
# exit_code = 0
# command = "setpriv --bounding-set=-dac_override,-dac_read_search,-fowner python {program}"
# environment = "hf4"
# needs = ["root"]
# why = "saving fails once for lack of rights and goes to a second folder, the work is done"
# ///
"""The model cannot be saved where it should be, goes to a second folder, and the job ends well."""

import os
import traceback

import torch
from transformers import RobertaConfig, RobertaForMaskedLM

os.makedirs("nfs/models")
os.chmod("nfs/models", 0o555)
config = RobertaConfig(
    vocab_size=80, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
    intermediate_size=32, max_position_embeddings=40,
)  # fmt: skip
model = RobertaForMaskedLM(config)
optimizer = torch.optim.Adam(model.parameters(), 3e-3)
for step in range(25):
    ids = torch.randint(5, 80, (8, 12))
    loss = model(ids, labels=ids).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 6 == 0:
        print({"loss": f"{loss.item():.4f}", "step": step, "nan_steps": 0})
for target in ("nfs/models/mlm", "local/mlm"):
    try:
        model.save_pretrained(target)
    except OSError:
        traceback.print_exc()
        print(f"could not save to {target}, trying the next folder")
    else:
        print("saved to", target)
        break
