# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 1
# environment = "hf4"
# ///
"""The name of the learning rate schedule is none that the Trainer knows."""

from transformers import HfArgumentParser, TrainingArguments

parser = HfArgumentParser(TrainingArguments)
arguments = ["--output_dir", "out", "--use_cpu", "true", "--learning_rate", "3e-5"]
(args,) = parser.parse_args_into_dataclasses([*arguments, "--lr_scheduler_type", "linear"])
print("first stage:", args.lr_scheduler_type, args.learning_rate)
settings = {"output_dir": "out2", "lr_scheduler_type": "cosine_with_warmup", "report_to": "none"}
(args,) = parser.parse_dict(settings)
print("second stage:", args.lr_scheduler_type)
