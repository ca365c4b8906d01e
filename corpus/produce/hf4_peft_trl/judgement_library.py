# /// case
# cause = "missing_module"
# paper_class = "missing_module"
# exit_code = 1
# environment = "hf4"
# why = "says that it requires Weights and Biases to be installed"
# ///
"""Samples are to be logged during evaluation, for which wandb is not installed."""

from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast
from trl import ORPOConfig, ORPOTrainer

core = Tokenizer(models.WordLevel({"<unk>": 0, "<pad>": 1, "</s>": 2, "yes": 3, "no": 4}, "<unk>"))
core.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(
    tokenizer_object=core, unk_token="<unk>", pad_token="<pad>", eos_token="</s>"
)
model = GPT2LMHeadModel(GPT2Config(vocab_size=8, n_embd=32, n_layer=1, n_head=2, n_positions=64))
pairs = Dataset.from_dict(
    {"prompt": ["is it"] * 32, "chosen": ["yes"] * 32, "rejected": ["no"] * 32}
)
args = ORPOConfig("orpo", generate_during_eval=True, max_length=32, max_prompt_length=16)
ORPOTrainer(model, args=args, train_dataset=pairs, processing_class=tokenizer).train()
