# /// case
# cause = "checkpoint"
# paper_class = "runtime_error"
# exit_code = 1
# ///
"""An adapter trained on a wider base model is loaded into a narrower one."""

from peft import LoraConfig, PeftModel, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM


def base(width):
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=128,
            hidden_size=width,
            intermediate_size=2 * width,
            num_hidden_layers=2,
            num_attention_heads=4,
        )
    )


lora = LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
get_peft_model(base(64), lora).save_pretrained("adapters/llama-64/checkpoint-800")
print("continuing from adapters/llama-64/checkpoint-800")
model = PeftModel.from_pretrained(base(32), "adapters/llama-64/checkpoint-800", is_trainable=True)
model.print_trainable_parameters()
