# /// case
# cause = "device_mismatch"
# exit_code = 1
# ///
"""A model with layers on disk is run without the hooks that would fetch them."""

import torch
from accelerate import disk_offload
from accelerate.hooks import remove_hook_from_submodules
from transformers import BertConfig, BertForSequenceClassification

config = BertConfig(
    vocab_size=200,
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=64,
    num_labels=3,
)
model = BertForSequenceClassification(config).eval()
disk_offload(model, "offload", execution_device=torch.device("cpu"))
ids = torch.randint(0, 200, (2, 10))
with torch.no_grad():
    print("with hooks   ", model(ids).logits.shape)
remove_hook_from_submodules(model)
with torch.no_grad():
    print("without hooks", model(ids, labels=torch.tensor([0, 2])).loss)
