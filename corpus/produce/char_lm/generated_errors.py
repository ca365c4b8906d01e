# /// case
# cause = "none"
# exit_code = 0
# why = "the alarming lines are what the model has learnt to write"
# ///
"""A model learns the language of old logs; its samples read like failures."""

import random

random.seed(7)
CORPUS = """
epoch 3 loss nan stopping
RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB
Killed process 4711 (python) total-vm:81232kB
slurmstepd: error: *** JOB 99 ON node7 CANCELLED AT 2024-01-01 DUE TO TIME LIMIT ***
Segmentation fault (core dumped)
RuntimeError: mat1 and mat2 shapes cannot be multiplied
step 100 loss 0.53
step 200 loss 0.41
""".strip()
ORDER = 6
table = {}
for epoch in range(3):
    for i in range(len(CORPUS) - ORDER):
        table.setdefault(CORPUS[i : i + ORDER], []).append(CORPUS[i + ORDER])
    print(f"epoch {epoch}: {len(table)} contexts, train loss {1.2 / (epoch + 1):.3f}")


def sample(prompt, length):
    text = prompt
    while len(text) < length and text[-ORDER:] in table:
        text += random.choice(table[text[-ORDER:]])
    return text


for i, prompt in enumerate(("Runtim", "Killed", "slurms", "step 1")):
    print(f"--- sample {i} ---")
    print(sample(prompt, 120))
print("training and sampling finished, model saved to ngram.json")
