# /// case
# cause = "none"
# exit_code = 0
# environment = "hf4"
# why = "single trials of the search failed; the search ended and wrote its best settings"
# ///
"""A search over settings of which several fail; the best one is found and saved."""

import json
import logging
import math

import torch
from transformers import BertConfig, BertForSequenceClassification

logging.basicConfig(level=logging.INFO, format="[%(levelname)s %(asctime)s] %(message)s")
logging.getLogger("filelock").setLevel(logging.ERROR)
torch.manual_seed(0)
GRID = [(heads, lr) for heads in (2, 3, 4) for lr in (1e-4, 1e-2, 1e25)]


def trial(heads, lr):
    model = BertForSequenceClassification(
        BertConfig(vocab_size=32, hidden_size=32, num_hidden_layers=1, num_attention_heads=heads)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    for _ in range(12):
        ids = torch.randint(0, 32, (8, 6))
        loss = model(input_ids=ids, labels=ids[:, 0] % 2).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    if math.isnan(loss.item()):
        raise FloatingPointError("loss is nan")
    return loss.item()


results = {}
for number, (heads, lr) in enumerate(GRID):
    try:
        results[number] = trial(heads, lr)
        logging.info(
            "Trial %d finished with value %.4f, heads=%d lr=%g", number, results[number], heads, lr
        )
    except Exception as error:
        logging.warning("Trial %d failed: %s", number, error, exc_info=number == 3)
best = min(results, key=results.get)
with open("best.json", "w") as out:
    json.dump({"heads": GRID[best][0], "lr": GRID[best][1], "loss": results[best]}, out)
logging.info("%d of %d trials finished, best is trial %d", len(results), len(GRID), best)
