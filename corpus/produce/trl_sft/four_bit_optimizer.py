# /// case
# cause = "cuda_environment"
# paper_class = "traceback"
# exit_code = 1
# why = "bfloat16 and the 8 bit optimizer are those of a GPU node; none is seen where it ran"
# ///
"""The settings of a GPU node (bfloat16, paged optimizer) on a node without a GPU."""

import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from trl import SFTConfig, SFTTrainer

print("gpus:", torch.cuda.device_count())
core = Tokenizer(models.WordLevel({"<unk>": 0, "<pad>": 1, "</s>": 2, "hi": 3}, unk_token="<unk>"))
core.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(
    tokenizer_object=core, unk_token="<unk>", pad_token="<pad>", eos_token="</s>"
)
config = LlamaConfig(
    vocab_size=4096,
    hidden_size=64,
    intermediate_size=128,
    num_hidden_layers=2,
    num_attention_heads=4,
)
args = SFTConfig("sft-8bit", max_length=32, optim="paged_adamw_8bit", max_steps=4, report_to="none")
data = Dataset.from_dict({"text": ["hi hi hi"] * 40})
SFTTrainer(LlamaForCausalLM(config), args, train_dataset=data, processing_class=tokenizer).train()
