# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 1
# ///
"""The end-of-turn token of another model family is set for this tokenizer."""

from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from trl import SFTConfig, SFTTrainer

texts = [f"question {i} answer {i * i}" for i in range(100)]
core = Tokenizer(models.BPE(unk_token="<unk>"))
core.pre_tokenizer = pre_tokenizers.ByteLevel()
core.train_from_iterator(
    texts, trainers.BpeTrainer(special_tokens=["<unk>", "<pad>", "</s>"], vocab_size=300)
)
tokenizer = PreTrainedTokenizerFast(
    tokenizer_object=core, unk_token="<unk>", pad_token="<pad>", eos_token="</s>"
)
config = LlamaConfig(
    vocab_size=300, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4
)
trainer = SFTTrainer(
    LlamaForCausalLM(config),
    SFTConfig("sft", max_length=64, eos_token="<|im_end|>", report_to="none", use_cpu=True),
    train_dataset=Dataset.from_dict({"text": texts}),
    processing_class=tokenizer,
)
trainer.train()
