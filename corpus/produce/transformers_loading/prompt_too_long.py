# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 1
# why = "max_length leaves no room for one new token: a generation setting"
# ///
"""Generation is limited to fewer tokens than the prompt has."""

import torch
from transformers import GenerationConfig, GPT2Config, GPT2LMHeadModel

model = GPT2LMHeadModel(GPT2Config(vocab_size=100, n_embd=32, n_layer=1, n_head=2, n_positions=64))
model.eval()
settings = GenerationConfig(
    max_length=20, num_beams=4, early_stopping=True, no_repeat_ngram_size=3, pad_token_id=0
)
print(settings)
for length in (8, 12, 16, 24):
    prompt = torch.randint(1, 100, (2, length))
    out = model.generate(prompt, generation_config=settings, attention_mask=prompt.ne(0))
    print(f"prompt {length} -> {tuple(out.shape)}")
