# /// case
# cause = "traceback"
# exit_code = 1
# why = "a variable of the program is unbound because no epoch was better; nothing else failed"
# ///
"""No epoch improves the word error rate, so the variable for the best weights is never bound."""

import copy
import logging
import random

import torch
from torch import nn

logging.basicConfig(level=logging.DEBUG, format="%(levelname).1s %(asctime)s %(name)s] %(message)s")
log = logging.getLogger("asr")
WORDS = ["zero", "one", "two", "three", "four", "five"]


def distance(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != y))
    return row[-1]


def word_error_rate(model, n=10):
    errors = words = 0
    for _ in range(n):
        reference = [random.choice(WORDS) for _ in range(5)]
        features = torch.stack([torch.eye(6)[WORDS.index(w)] for w in reference])
        guess = [WORDS[i] for i in (model(features) * -1).argmax(-1).tolist()]
        errors += distance(guess, reference)
        words += len(reference)
    return errors / words


def fit(model, epochs, patience=3):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
    lowest, waited = 0.05, 0
    for epoch in range(1, epochs + 1):
        for _ in range(20):
            y = torch.randint(0, 6, (16,))
            loss = nn.functional.cross_entropy(model(torch.eye(6)[y]), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        wer = word_error_rate(model)
        log.info("epoch %d: loss %.4f, WER %.1f%%", epoch, loss.item(), 100 * wer)
        if wer < lowest:
            lowest, waited = wer, 0
            best_state = copy.deepcopy(model.state_dict())
        else:
            waited += 1
            log.warning("no improvement for %d of %d epochs", waited, patience)
        if waited >= patience:
            log.info("early stopping")
            break
    model.load_state_dict(best_state)
    return lowest


random.seed(0)
torch.manual_seed(0)
log.debug("words: %s", WORDS)
print("final WER", fit(nn.Linear(6, 6), 12))
