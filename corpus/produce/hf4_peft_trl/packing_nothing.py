# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# environment = "hf4"
# why = "the texts together are shorter than one packed sequence: no example is left"
# ///
"""Packing long sequences from a few short texts gives none."""

from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast
from trl import SFTConfig, SFTTrainer

core = Tokenizer(models.WordLevel({"<unk>": 0, "<pad>": 1, "</s>": 2, "hi": 3}, unk_token="<unk>"))
core.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(
    tokenizer_object=core, unk_token="<unk>", pad_token="<pad>", eos_token="</s>"
)
model = GPT2LMHeadModel(GPT2Config(vocab_size=8, n_embd=32, n_layer=1, n_head=2, n_positions=4096))
args = SFTConfig(
    "packed", max_seq_length=2048, packing=True, dataset_text_field="text", report_to="none",
    use_cpu=True, max_steps=4,
)  # fmt: skip
data = Dataset.from_dict({"text": ["hi hi hi"] * 40})
SFTTrainer(model, args, train_dataset=data, processing_class=tokenizer).train()
