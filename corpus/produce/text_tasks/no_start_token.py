# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 1
# environment = "hf4"
# why = "the model's configuration lacks decoder_start_token_id, which the first loss needs"
# ///
"""An encoder and a decoder are joined, and the configuration does not say with which token decoding starts."""

import logging

import torch
from accelerate import Accelerator
from accelerate.logging import get_logger
from torch.utils.data import DataLoader
from transformers import BertConfig, EncoderDecoderConfig, EncoderDecoderModel

logging.basicConfig(
    format="%(asctime)s - %(levelname)s - %(name)s - %(message)s", datefmt="%m/%d/%Y %H:%M:%S"
)
logger = get_logger(__name__, log_level="INFO")
torch.set_num_threads(1)
accelerator = Accelerator(cpu=True)
logger.info(accelerator.state, main_process_only=False)


def part(**more):
    return BertConfig(
        vocab_size=64, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=32, pad_token_id=0, **more,
    )  # fmt: skip


config = EncoderDecoderConfig.from_encoder_decoder_configs(part(), part())
model = EncoderDecoderModel(config)
rows = [(torch.randint(1, 64, (12,)), torch.randint(1, 64, (6,))) for _ in range(24)]
loader = DataLoader(rows, batch_size=4, shuffle=True)
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
logger.info("***** Running training *****")
logger.info("  Num examples = %d", len(rows))
logger.info("  Total optimization steps = %d", 3 * len(loader))
for epoch in range(3):
    for source, target in loader:
        out = model(input_ids=source, labels=target)
        accelerator.backward(out.loss)
        optimizer.step()
        optimizer.zero_grad()
    logger.info("epoch %d loss %.3f", epoch, out.loss.item())
