# /// case
# cause = "traceback"
# exit_code = 1
# why = "a mistake of the program: the label names are a list and are asked like a dictionary"
# ///
"""The label names are used as if they were a dictionary when results are printed."""

import torch
from rich.console import Console
from rich.progress import track
from transformers import BertConfig, BertForTokenClassification

console = Console(width=100)
LABELS = ["O", "B-PER", "I-PER", "B-LOC"]
config = BertConfig(
    vocab_size=32, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, num_labels=4
)
model = BertForTokenClassification(config).eval()
found = []
for _ in track(range(20), description="tagging", console=console):
    with torch.no_grad():
        found += model(torch.randint(0, 32, (2, 10))).logits.argmax(-1).flatten().tolist()
counts = {label: found.count(number) for number, label in enumerate(LABELS)}
console.print(counts)
for label, number in counts.items():
    share = number / len(found)
    console.print(f"{LABELS.get(label, label)}: {share:.1%}")
