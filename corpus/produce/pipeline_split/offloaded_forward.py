# /// case
# cause = "device_mismatch"
# exit_code = 1
# ///
"""The weights of an offloaded model are read for a penalty without the hooks that would fetch them."""

import torch
from accelerate import disk_offload
from transformers import BertConfig, BertForSequenceClassification

config = BertConfig(
    vocab_size=200,
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=64,
    num_labels=3,
)
student = BertForSequenceClassification(config)
teacher = BertForSequenceClassification(config).eval()
disk_offload(teacher, "offload", execution_device=torch.device("cpu"))
optimizer = torch.optim.AdamW(student.parameters(), lr=1e-4)


def distance(a, b):
    return sum((p - q).pow(2).mean() for p, q in zip(a.parameters(), b.parameters()))


for step in range(6):
    ids = torch.randint(0, 200, (2, 10))
    with torch.no_grad():
        target = teacher(ids).logits.softmax(-1)
    loss = torch.nn.functional.cross_entropy(student(ids).logits, target)
    if step == 3:
        print("adding the weight penalty")
        loss = loss + 0.01 * distance(student, teacher)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"step {step}: distillation loss {loss.item():.4f}", flush=True)
