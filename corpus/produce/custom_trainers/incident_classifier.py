# /// case
# cause = "none"
# exit_code = 0
# why = "the failures are the texts and the class names of the task; a metric is nan, a report cannot be drawn, the model is saved"
# ///
"""A classifier of incident tickets whose classes are failures; the training ends well."""

import logging
import random

import numpy as np
import torch
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)

logging.basicConfig(level=logging.INFO, format="%(asctime)s [%(levelname)s] %(message)s")
LABELS = ["cuda_oom", "segfault", "disk_full", "nccl_timeout", "healthy"]
TEXTS = {
    "cuda_oom": "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
    "segfault": "Segmentation fault (core dumped) in libcaffe.so",
    "disk_full": "OSError: [Errno 28] No space left on device: /scratch",
    "nccl_timeout": "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=17)",
    "healthy": "training completed, exit code 0",
}


def encode(text):
    return torch.tensor([ord(c) % 64 for c in f"{text:<48}"[:48]])


def tickets(n):
    random.seed(n)
    kinds = [random.choice(LABELS[: 5 if n > 50 else 4]) for _ in range(n)]
    return [
        {"input_ids": encode(TEXTS[k][random.randint(0, 4) :]), "labels": LABELS.index(k)}
        for k in kinds
    ]


def metrics(prediction):
    guess = prediction.predictions.argmax(-1)
    with np.errstate(invalid="warn"):
        per_class = [
            float(np.mean(guess[prediction.label_ids == k] == k)) for k in range(len(LABELS))
        ]
    return {f"recall_{name}": value for name, value in zip(LABELS, per_class)}


class Examples(TrainerCallback):
    def on_evaluate(self, args, state, control, model=None, **kwargs):
        for name in random.sample(LABELS, 2):
            ids = encode(TEXTS[name])[None].to(model.device)
            guess = LABELS[model(ids).logits.argmax(-1).item()]
            level = logging.INFO if guess == name else logging.ERROR
            logging.log(level, "%r -> %s", TEXTS[name], guess)


torch.manual_seed(0)
config = BertConfig(
    vocab_size=64, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64,
    num_labels=5, id2label=dict(enumerate(LABELS)), label2id={n: i for i, n in enumerate(LABELS)},
)  # fmt: skip
args = TrainingArguments(
    "incidents", num_train_epochs=4, per_device_train_batch_size=10, learning_rate=2e-3,
    eval_strategy="epoch", logging_steps=10, report_to="none", use_cpu=True, save_strategy="no",
)  # fmt: skip
trainer = Trainer(
    BertForSequenceClassification(config), args, train_dataset=tickets(200),
    eval_dataset=tickets(40), compute_metrics=metrics, callbacks=[Examples()],
)  # fmt: skip
trainer.train()
try:
    import matplotlib.pyplot as plot

    plot.savefig("confusion.png")
except ModuleNotFoundError:
    logging.warning("confusion matrix skipped", exc_info=True)
trainer.save_model("incidents/final")
print("saved to incidents/final")
