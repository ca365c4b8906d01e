# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 1
# ///
"""The policy itself is passed as the reference of DPO."""

from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast
from trl import DPOConfig, DPOTrainer

core = Tokenizer(models.WordLevel({"<unk>": 0, "<pad>": 1, "</s>": 2, "yes": 3, "no": 4}, "<unk>"))
core.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(
    tokenizer_object=core, unk_token="<unk>", pad_token="<pad>", eos_token="</s>"
)
policy = GPT2LMHeadModel(GPT2Config(vocab_size=8, n_embd=32, n_layer=2, n_head=2, n_positions=64))
pairs = Dataset.from_dict(
    {"prompt": ["is it"] * 32, "chosen": ["yes"] * 32, "rejected": ["no"] * 32}
)
trainer = DPOTrainer(
    policy,
    ref_model=policy,
    args=DPOConfig("dpo", beta=0.1, report_to="none", use_cpu=True),
    train_dataset=pairs,
    processing_class=tokenizer,
)
trainer.train()
