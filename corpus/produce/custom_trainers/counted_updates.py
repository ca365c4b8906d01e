# /// case
# cause = "assertion"
# exit_code = 1
# why = "the program's own bookkeeping of updates does not hold; nothing else is wrong with the run"
# ///
"""A Trainer that counts its own micro-batches asserts that they are whole updates at the end of an epoch."""

import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments


class Lines(Dataset):
    def __init__(self, n):
        torch.manual_seed(n)
        self.rows = torch.randint(0, 80, (n, 12))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return {"input_ids": self.rows[index], "labels": self.rows[index]}


class CountingTrainer(Trainer):
    """Keeps the number of micro-batches, for the throughput that the team reports."""

    micro_batches = 0

    def training_step(self, model, inputs, *args, **kwargs):
        self.micro_batches += 1
        return super().training_step(model, inputs, *args, **kwargs)


class Throughput(TrainerCallback):
    def __init__(self, per_update):
        self.per_update = per_update
        self.trainer = None

    def on_epoch_end(self, args, state, control, **kwargs):
        seen = self.trainer.micro_batches
        print(
            f"[throughput] epoch {state.epoch:.0f}: {seen} micro-batches, step {state.global_step}"
        )
        assert seen == state.global_step * self.per_update, (
            f"accounting is off: {seen} micro-batches for {state.global_step} updates"
        )


config = GPT2Config(vocab_size=80, n_embd=16, n_layer=1, n_head=2, n_positions=16)
args = TrainingArguments(
    output_dir="lm",
    per_device_train_batch_size=4,
    gradient_accumulation_steps=4,
    num_train_epochs=3,
    logging_steps=2,
    report_to=[],
    use_cpu=True,
    disable_tqdm=True,
)
counter = Throughput(args.gradient_accumulation_steps)
trainer = CountingTrainer(
    GPT2LMHeadModel(config), args, train_dataset=Lines(103), callbacks=[counter]
)
counter.trainer = trainer
print(trainer.train())
