# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# environment = "hf4"
# why = "a column holds numbers where the trainer reads strings"
# ///
"""The rejected answers are numbers, not texts."""

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
pairs = Dataset.from_dict({"prompt": ["is it"] * 32, "chosen": ["42"] * 32, "rejected": [41] * 32})
args = ORPOConfig(
    "orpo", max_length=32, max_prompt_length=16, report_to="none", use_cpu=True, logging_steps=1
)
ORPOTrainer(model, args=args, train_dataset=pairs, processing_class=tokenizer).train()
