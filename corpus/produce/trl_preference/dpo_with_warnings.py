# /// case
# cause = "none"
# exit_code = 0
# environment = "hf4"
# why = "warnings, a nan among logged metrics and failing judgements; training ended well"
# ///
"""Preference training with noisy judgements goes to its end."""

import logging

import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast, TrainerCallback
from trl import DPOConfig, DPOTrainer

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)-8s %(message)s")
torch.manual_seed(0)


class Judge(TrainerCallback):
    """Asks an external judge, which often does not answer."""

    def on_log(self, args, state, control, logs=None, **kwargs):
        try:
            raise TimeoutError("judge did not answer within 30 s")
        except TimeoutError as error:
            logging.error("judging failed at step %d: %s", state.global_step, error)
            logs["judge_win_rate"] = float("nan")


words = ["<unk>", "<pad>", "</s>", "yes", "no", *[f"w{i}" for i in range(27)]]
core = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, "<unk>"))
core.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(
    tokenizer_object=core, unk_token="<unk>", pad_token="<pad>", eos_token="</s>"
)
pairs = Dataset.from_dict(
    {"prompt": ["w1 w2 w3"] * 48, "chosen": ["yes w4 yes"] * 48, "rejected": ["no w5"] * 48}
)
args = DPOConfig(
    "dpo",
    max_steps=12,
    logging_steps=3,
    max_length=16,
    max_prompt_length=8,
    report_to="none",
    use_cpu=True,
)
model = GPT2LMHeadModel(GPT2Config(vocab_size=32, n_embd=32, n_layer=1, n_head=2, n_positions=64))
trainer = DPOTrainer(
    model, args=args, train_dataset=pairs, processing_class=tokenizer, callbacks=[Judge()]
)
trainer.train()
trainer.save_model("dpo/final")
logging.info("finished: dpo/final written, %d judgements failed", 5)
