# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 1
# ///
"""The batch of GRPO is not divisible by the number of generations."""

from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast
from trl import GRPOConfig, GRPOTrainer


def length_reward(completions, **kwargs):
    return [-abs(10 - len(text)) for text in completions]


core = Tokenizer(models.WordLevel({"<unk>": 0, "<pad>": 1, "</s>": 2, "yes": 3, "no": 4}, "<unk>"))
core.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(
    tokenizer_object=core, unk_token="<unk>", pad_token="<pad>", eos_token="</s>"
)
args = GRPOConfig(
    "grpo",
    per_device_train_batch_size=4,
    gradient_accumulation_steps=3,
    num_generations=8,
    max_completion_length=8,
    report_to="none",
    use_cpu=True,
)
model = GPT2LMHeadModel(GPT2Config(vocab_size=8, n_embd=32, n_layer=1, n_head=2, n_positions=64))
GRPOTrainer(
    model,
    length_reward,
    args=args,
    train_dataset=Dataset.from_dict({"prompt": ["is it"] * 32}),
    processing_class=tokenizer,
).train()
