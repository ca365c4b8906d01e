# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# why = "the records have other columns than the trainer reads"
# ///
"""Alpaca records are given as they are: there is no column 'text'."""

import logging

from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from trl import SFTConfig, SFTTrainer

logging.basicConfig(level=logging.INFO)
vocabulary = {
    w: i for i, w in enumerate(["<unk>", "<pad>", "</s>", "say", "hello", "in", "French"])
}
core = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
core.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(
    tokenizer_object=core, unk_token="<unk>", pad_token="<pad>", eos_token="</s>"
)
alpaca = Dataset.from_list(
    [{"instruction": "say hello", "input": "in French", "output": "bonjour"}] * 50
)
config = LlamaConfig(
    vocab_size=16, hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=4
)
args = SFTConfig("alpaca-sft", max_length=32, report_to="none", use_cpu=True)
SFTTrainer(LlamaForCausalLM(config), args, train_dataset=alpaca, processing_class=tokenizer).train()
