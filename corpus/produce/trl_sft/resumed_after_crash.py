# /// case
# cause = "none"
# exit_code = 0
# timeout_s = 300
# why = "the first start crashed at step 12, the second resumed from checkpoint-10 and finished"
# ///
"""The first start crashes in a callback, the second resumes from the last checkpoint and finishes."""

import os
import subprocess
import sys

if "--worker" not in sys.argv:
    for restart in range(3):
        print(f"[supervisor] start {restart}", flush=True)
        code = subprocess.call([sys.executable, __file__, "--worker"])
        print(f"[supervisor] worker exited with status {code}", flush=True)
        if code == 0:
            break
    sys.exit(code)

from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast, TrainerCallback
from transformers.trainer_utils import get_last_checkpoint
from trl import SFTConfig, SFTTrainer

core = Tokenizer(models.WordLevel({"<unk>": 0, "<pad>": 1, "</s>": 2, "hi": 3}, unk_token="<unk>"))
core.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(
    tokenizer_object=core, unk_token="<unk>", pad_token="<pad>", eos_token="</s>"
)
config = LlamaConfig(
    vocab_size=8, hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=4
)
last = get_last_checkpoint("sft") if os.path.isdir("sft") else None


class Metrics(TrainerCallback):
    """Sends metrics to a server that is not always there."""

    def on_step_end(self, args, state, control, **kwargs):
        if state.global_step == 12 and last is None:
            raise ConnectionRefusedError(111, "Connection refused: metrics.internal:9091")


args = SFTConfig(
    "sft", max_length=32, max_steps=20, save_steps=5, logging_steps=5, report_to="none",
    use_cpu=True,
)  # fmt: skip
data = Dataset.from_dict({"text": ["hi hi hi"] * 100})
trainer = SFTTrainer(
    LlamaForCausalLM(config), args, train_dataset=data, processing_class=tokenizer,
    callbacks=[Metrics()],
)  # fmt: skip
trainer.train(resume_from_checkpoint=last)
