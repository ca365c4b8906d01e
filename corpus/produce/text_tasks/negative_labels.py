# /// case
# cause = "traceback"
# exit_code = 1
# why = "the program hands the -100 of the padded labels to the tokenizer: its own mistake, an OverflowError"
# ///
"""The padded labels are decoded for the metric without their -100 being replaced first."""

import numpy as np
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    DataCollatorForSeq2Seq,
    PreTrainedTokenizerFast,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
    T5Config,
    T5ForConditionalGeneration,
)

torch.set_num_threads(1)
words = ["<pad>", "</s>", "<unk>", *"rain sun wind snow cold warm day night is was today".split()]
core = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="<unk>"))
core.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(
    tokenizer_object=core, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
)


def example(source, target):
    return tokenizer(source) | {"labels": tokenizer(target)["input_ids"] + [1]}


rows = [
    example("today is cold wind", "snow"),
    example("rain was today", "warm day is cold"),
    example("sun", "warm night"),
    example("snow is cold", "cold day"),
] * 4


def exact_match(prediction):
    generated = tokenizer.batch_decode(prediction.predictions, skip_special_tokens=True)
    wanted = tokenizer.batch_decode(prediction.label_ids, skip_special_tokens=True)
    return {"exact_match": float(np.mean([g == w for g, w in zip(generated, wanted)]))}


config = T5Config(
    vocab_size=len(words), d_model=16, d_kv=8, d_ff=32, num_layers=1, num_heads=2,
    decoder_start_token_id=0, pad_token_id=0, eos_token_id=1,
)  # fmt: skip
model = T5ForConditionalGeneration(config)
arguments = Seq2SeqTrainingArguments(
    "weather-t5", num_train_epochs=2, per_device_train_batch_size=4, logging_steps=2,
    eval_strategy="epoch", predict_with_generate=True, generation_max_length=8,
    report_to="none", use_cpu=True, dataloader_pin_memory=False,
)  # fmt: skip
trainer = Seq2SeqTrainer(
    model, arguments, train_dataset=rows, eval_dataset=rows[:4], compute_metrics=exact_match,
    data_collator=DataCollatorForSeq2Seq(tokenizer, model), processing_class=tokenizer,
)  # fmt: skip
trainer.train()
