# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 1
# why = "the tokenizer was set up without a chat template"
# ///
"""Conversations are trained on with a tokenizer that has no chat template."""

from accelerate.logging import get_logger
from accelerate.state import PartialState
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from trl import SFTConfig, SFTTrainer

PartialState()
logger = get_logger(__name__, log_level="INFO")
core = Tokenizer(models.WordLevel({"<unk>": 0, "<pad>": 1, "</s>": 2, "hi": 3}, unk_token="<unk>"))
core.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(
    tokenizer_object=core, unk_token="<unk>", pad_token="<pad>", eos_token="</s>"
)
chats = Dataset.from_dict(
    {
        "messages": [[{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hi hi"}]]
        * 40
    }
)
logger.info("%d conversations", len(chats))
config = LlamaConfig(
    vocab_size=8, hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=4
)
args = SFTConfig("chat-sft", max_length=32, report_to="none", use_cpu=True)
SFTTrainer(LlamaForCausalLM(config), args, train_dataset=chats, processing_class=tokenizer).train()
