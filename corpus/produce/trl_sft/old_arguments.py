# /// case
# cause = "dependency"
# paper_class = "traceback"
# exit_code = 1
# why = "the script follows the interface of an older TRL: the argument was renamed"
# ///
"""A script for an older TRL passes an argument that was renamed."""

import trl
from datasets import Dataset
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM
from trl import SFTConfig, SFTTrainer

print("trl", trl.__version__)
config = LlamaConfig(
    vocab_size=300, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4
)
args = SFTConfig(
    output_dir="sft-out",
    max_seq_length=512,
    packing=True,
    per_device_train_batch_size=2,
    gradient_accumulation_steps=4,
)
trainer = SFTTrainer(
    model=LlamaForCausalLM(config),
    args=args,
    train_dataset=Dataset.from_dict({"text": ["hello"] * 8}),
    tokenizer=AutoTokenizer.from_pretrained("out/tokenizer"),
)
trainer.train()
