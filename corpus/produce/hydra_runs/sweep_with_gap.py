# /// case
# cause = "div_zero"
# paper_class = "div_zero"
# exit_code = 1
# command = "python {program} -m schedule.total=100,50,20 schedule.warmup=20"
# why = "the operand is the difference of two options; the log does not say so, the message is all there is"
# ///
"""The third job of a multirun has a decay phase of no steps."""

import logging
from pathlib import Path

import hydra

Path("conf").mkdir(exist_ok=True)
Path("conf/config.yaml").write_text("schedule:\n  total: 100\n  warmup: 10\n  peak: 0.1\n")
log = logging.getLogger(__name__)


def rate(step, total, warmup, peak):
    if step < warmup:
        return peak * step / warmup
    return peak * (total - step) / (total - warmup)


@hydra.main(version_base=None, config_path="conf", config_name="config")
def main(cfg):
    for step in range(0, cfg.schedule.total + 1, 10):
        log.info("step %d lr %.4f", step, rate(step, **cfg.schedule))
    return 0.0


if __name__ == "__main__":
    main()
