# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 1
# why = "num_labels must be one for this trainer: a setting of the model"
# ///
"""A classifier with two labels is trained as a reward model."""

from datasets import Dataset
from rich.traceback import install
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2ForSequenceClassification, PreTrainedTokenizerFast
from trl import RewardConfig, RewardTrainer

install(width=100, show_locals=False)
core = Tokenizer(models.WordLevel({"<unk>": 0, "<pad>": 1, "</s>": 2, "yes": 3, "no": 4}, "<unk>"))
core.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(
    tokenizer_object=core, unk_token="<unk>", pad_token="<pad>", eos_token="</s>"
)
config = GPT2Config(
    vocab_size=8, n_embd=32, n_layer=1, n_head=2, n_positions=64, num_labels=2, pad_token_id=1
)
pairs = Dataset.from_dict({"chosen": ["is it yes"] * 32, "rejected": ["is it no"] * 32})
trainer = RewardTrainer(
    GPT2ForSequenceClassification(config),
    RewardConfig("rm", report_to="none", use_cpu=True),
    train_dataset=pairs,
    processing_class=tokenizer,
)
trainer.train()
