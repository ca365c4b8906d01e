# /// case
# cause = "none"
# exit_code = 0
# environment = "hf4"
# why = "missing and unexpected weights, an export that is given up with its traceback logged, and a good end"
# ///
"""A classifier of support tickets about failures is trained from a headless base; its optional export fails."""

import logging

import torch
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForSequenceClassification,
    Trainer,
    TrainerCallback,
    TrainingArguments,
    set_seed,
)

logging.basicConfig(level=logging.INFO, format="[%(levelname)s] %(message)s")
torch.set_num_threads(1)
set_seed(7)
base = BertConfig(
    vocab_size=80, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32
)
BertForMaskedLM(base).save_pretrained("base")
classes = ["out of memory", "segmentation fault", "disk full", "killed"]
model = BertForSequenceClassification.from_pretrained("base", num_labels=len(classes))
rows = [
    {"input_ids": [2, 10 + 5 * label, 11 + 5 * label, 3], "labels": label}
    for label in range(len(classes))
] * 12


class ShowGuess(TrainerCallback):
    def on_epoch_end(self, args, state, control, model, **kwargs):
        with torch.no_grad():
            guess = model(torch.tensor([[2, 20, 21, 3]])).logits.argmax().item()
        logging.error("ticket 4711 would be routed to %r", classes[guess])


arguments = TrainingArguments(
    "router", num_train_epochs=4, per_device_train_batch_size=8, learning_rate=2e-2,
    logging_steps=6, save_strategy="no", report_to="none", use_cpu=True,
)  # fmt: skip
trainer = Trainer(model, arguments, train_dataset=rows, eval_dataset=rows, callbacks=[ShowGuess()])
trainer.train()
try:
    import onnx

    onnx.save(model, "router.onnx")
except ImportError:
    logging.exception("export to ONNX is skipped")
logging.info("evaluation: %s", trainer.evaluate())
trainer.save_model()
logging.info("model saved to %s, done", arguments.output_dir)
