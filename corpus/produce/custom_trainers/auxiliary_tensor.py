# /// case
# cause = "traceback"
# exit_code = 1
# environment = "hf4"
# why = "a bug of the program: a tensor is left in the history, which is written as JSON with the first checkpoint"
# ///
"""A tensor is logged as a metric; the failure comes when the state is saved with the first checkpoint."""

import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments


class ContrastiveTrainer(Trainer):
    """Adds a contrastive term and logs it."""

    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        outputs = model(**inputs, output_hidden_states=True)
        vectors = torch.nn.functional.normalize(outputs.hidden_states[-1][:, 0], dim=-1)
        same = inputs["labels"][:, None] == inputs["labels"][None]
        contrast = (vectors @ vectors.T - same.float()).square().mean()
        if self.state.global_step % 10 == 5:
            self.log({"ce": outputs.loss.item(), "contrast": contrast.detach()})
        loss = outputs.loss + 0.1 * contrast
        return (loss, outputs) if return_outputs else loss


class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 160

    def __getitem__(self, i):
        generator = torch.Generator().manual_seed(i)
        return {"input_ids": torch.randint(0, 64, (10,), generator=generator), "labels": i % 2}


torch.manual_seed(0)
config = BertConfig(
    vocab_size=64, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32
)
args = TrainingArguments(
    "contrast",
    max_steps=60,
    save_steps=25,
    logging_steps=10,
    report_to="none",
    use_cpu=True,
)
ContrastiveTrainer(BertForSequenceClassification(config), args, train_dataset=Rows()).train()
