# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# ///
"""The data set still has its raw text columns: the Trainer drops all of them."""

from datasets import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

raw = Dataset.from_dict({"text": ["once upon a time"] * 40, "id": list(range(40))})
model = GPT2LMHeadModel(GPT2Config(vocab_size=100, n_embd=32, n_layer=2, n_head=2, n_positions=64))
args = TrainingArguments(output_dir="gpt2-stories", max_steps=10, report_to="none")
Trainer(model=model, args=args, train_dataset=raw).train()
print("training finished")
