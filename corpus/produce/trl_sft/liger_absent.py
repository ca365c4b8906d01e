# /// case
# cause = "missing_module"
# paper_class = "missing_module"
# exit_code = 1
# ///
"""The liger kernels are switched on and not installed."""

from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from trl import SFTConfig, SFTTrainer

core = Tokenizer(models.WordLevel({"<unk>": 0, "<pad>": 1, "</s>": 2, "hi": 3}, unk_token="<unk>"))
core.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(
    tokenizer_object=core, unk_token="<unk>", pad_token="<pad>", eos_token="</s>"
)
config = LlamaConfig(
    vocab_size=8, hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=4
)
args = SFTConfig(
    "fast-sft",
    max_length=32,
    use_liger_kernel=True,
    use_cpu=True,
    report_to="none",
    per_device_train_batch_size=4,
)
data = Dataset.from_dict({"text": ["hi hi hi"] * 40})
SFTTrainer(LlamaForCausalLM(config), args, train_dataset=data, processing_class=tokenizer).train()
