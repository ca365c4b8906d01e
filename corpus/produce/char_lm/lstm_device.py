# /// case
# cause = "device_mismatch"
# exit_code = 1
# ///
"""The recurrent layer was created on another device than the rest of the model."""

import logging

import torch
from torch import nn

logging.basicConfig(
    level=logging.INFO, format="%(asctime)s %(levelname)s [%(funcName)s] %(message)s"
)


def build(vocab, width, devices):
    embed = nn.Embedding(vocab, width, device=devices[0])
    lstm = nn.LSTM(width, width, batch_first=True, device=devices[1])
    head = nn.Linear(width, vocab, device=devices[0])
    logging.info(
        "embedding %s, lstm %s, head %s",
        *(next(m.parameters()).device for m in (embed, lstm, head)),
    )
    return embed, lstm, head


def step(parts, ids):
    embed, lstm, head = parts
    hidden, _ = lstm(embed(ids))
    return nn.functional.cross_entropy(head(hidden).flatten(0, 1), ids.flatten())


ids = torch.randint(0, 30, (4, 12))
for name, devices in {"single": ("cpu", "cpu"), "split": ("cpu", "meta")}.items():
    logging.info("layout %s", name)
    parts = build(30, 16, devices)
    for i in range(3):
        logging.info("step %d loss %.4f", i, step(parts, ids))
