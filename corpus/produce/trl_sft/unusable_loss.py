# /// case
# cause = "config"
# paper_class = ""
# exit_code = 2
# ///
"""A command line of the TRL parser names a loss that does not exist."""

import sys

from datasets import Dataset
from tokenizers import Tokenizer, models
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from trl import ScriptArguments, SFTConfig, SFTTrainer, TrlParser

sys.argv[1:] = (
    "--output_dir out --dataset_name local --loss_type focal --max_length 16 --report_to none"
).split()
script, args = TrlParser((ScriptArguments, SFTConfig)).parse_args_and_config()
print(script)
core = Tokenizer(models.WordLevel({"<unk>": 0, "</s>": 1}, unk_token="<unk>"))
config = LlamaConfig(
    vocab_size=8, hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=4
)
SFTTrainer(
    LlamaForCausalLM(config),
    args,
    train_dataset=Dataset.from_dict({"text": ["a b c"] * 10}),
    processing_class=PreTrainedTokenizerFast(tokenizer_object=core, eos_token="</s>"),
).train()
