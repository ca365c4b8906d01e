# /// case
# cause = "nan_loss"
# exit_code = 0
# why = "from the third step on the loss is nan or zero and the accuracy stays at nothing; the script ends well"
# ///
"""A scale in the loss overflows: loss 0 and grad_norm nan to the end of the run."""

import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from trl import SFTConfig, SFTTrainer

torch.manual_seed(0)
words = ["<unk>", "<pad>", "</s>", *[f"w{i}" for i in range(60)]]
core = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="<unk>"))
core.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(
    tokenizer_object=core, unk_token="<unk>", pad_token="<pad>", eos_token="</s>"
)
texts = [" ".join(f"w{(i * 7 + j) % 60}" for j in range(20)) for i in range(160)]
config = LlamaConfig(
    vocab_size=64, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4
)
args = SFTConfig(
    "sft-fp16",
    max_length=24,
    num_train_epochs=2,
    learning_rate=1e22,
    lr_scheduler_type="constant_with_warmup",
    warmup_steps=30,
    max_grad_norm=1e9,
    optim="sgd",
    logging_steps=4,
    save_strategy="no",
    report_to="none",
    use_cpu=True,
    bf16=False,
)
trainer = SFTTrainer(
    LlamaForCausalLM(config),
    args,
    train_dataset=Dataset.from_dict({"text": texts}),
    processing_class=tokenizer,
)
trainer.train()
trainer.save_model("sft-fp16/last")
print("Training complete. Model saved to sft-fp16/last")
