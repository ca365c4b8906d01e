# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 1
# ///
"""The number of attention heads does not divide the hidden size."""

from dataclasses import dataclass

from transformers import BertConfig, BertForMaskedLM, HfArgumentParser


@dataclass
class ModelArguments:
    """What the model looks like."""

    hidden_size: int = 256
    num_hidden_layers: int = 4
    num_attention_heads: int = 12


(args,) = HfArgumentParser(ModelArguments).parse_args_into_dataclasses()
print(args)
model = BertForMaskedLM(BertConfig(vocab_size=1000, intermediate_size=512, **vars(args)))
print(f"{model.num_parameters() / 1e6:.1f} M parameters")
