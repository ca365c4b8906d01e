# /// case
# cause = "cuda_environment"
# paper_class = "assertion"
# exit_code = 1
# ///
"""The model is sent to a GPU by a build of torch that has no CUDA."""

import os

import torch
from datasets import Dataset
from transformers import T5Config, T5ForConditionalGeneration
from transformers import Seq2SeqTrainer, Seq2SeqTrainingArguments

print("CUDA_VISIBLE_DEVICES =", os.environ.get("CUDA_VISIBLE_DEVICES", "unset"))
print("torch", torch.__version__)
args = Seq2SeqTrainingArguments(
    output_dir="t5-sum",
    per_device_train_batch_size=16,
    fp16=True,
    predict_with_generate=True,
    report_to="none",
)
config = T5Config(vocab_size=64, d_model=32, d_kv=8, d_ff=64, num_layers=1, num_heads=2)
config.decoder_start_token_id = 0
model = T5ForConditionalGeneration(config).cuda()
data = Dataset.from_dict({"input_ids": [[3, 4, 5]] * 32, "labels": [[6, 7]] * 32})
Seq2SeqTrainer(model=model, args=args, train_dataset=data).train()
