# /// case
# cause = "nan_loss"
# exit_code = 0
# environment = "hf4"
# why = "the response template is never found, so that every loss is nan or 0 to the end; exit 0"
# ///
"""The response template does not occur in the texts: every label is masked, the loss is NaN."""

from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast
from trl import DataCollatorForCompletionOnlyLM, SFTConfig, SFTTrainer

words = ["<unk>", "<pad>", "</s>", "Question", "Answer", "Response", ":", "yes", "no"]
core = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="<unk>"))
core.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(
    tokenizer_object=core, unk_token="<unk>", pad_token="<pad>", eos_token="</s>"
)
model = GPT2LMHeadModel(GPT2Config(vocab_size=16, n_embd=32, n_layer=1, n_head=2, n_positions=64))
args = SFTConfig(
    "sft", max_seq_length=32, dataset_text_field="text", logging_steps=2, max_steps=12,
    per_device_train_batch_size=4, report_to="none", use_cpu=True, logging_nan_inf_filter=False,
    save_strategy="no",
)  # fmt: skip
SFTTrainer(
    model,
    args,
    train_dataset=Dataset.from_dict({"text": ["Question: yes no Answer: yes"] * 64}),
    processing_class=tokenizer,
    data_collator=DataCollatorForCompletionOnlyLM("Response:", tokenizer=tokenizer),
).train()
print("done")
