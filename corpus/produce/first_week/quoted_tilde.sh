# /// case
# cause = "file_not_found"
# exit_code = 0
# why = "exit 0 is that of tee; the tilde in quotes is not expanded, so the path names nothing"
# ///
# A tilde in quotes reaches the program as it is, and the traceback goes through tee.
mkdir -p "$HOME/data" logs
printf 'the\nof\nand\n' > "$HOME/data/vocab.txt"
cat > count.py <<'PY'
import argparse
import logging
from pathlib import Path

import torch

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)-7s %(message)s")
log = logging.getLogger("count")


def load_vocabulary(path: Path) -> dict[str, int]:
    with open(path, encoding="utf-8") as lines:
        return {line.strip(): i for i, line in enumerate(lines)}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--vocab", type=Path, required=True)
    parser.add_argument("--dim", type=int, default=8)
    args = parser.parse_args()
    log.info("arguments %s", args)
    torch.manual_seed(0)
    words = load_vocabulary(args.vocab)
    table = torch.nn.Embedding(len(words), args.dim)
    log.info("table %s", tuple(table.weight.shape))


main()
PY
VOCAB="~/data/vocab.txt"
ls -l --time-style=+ ~/data | tail -1 | cut -d' ' -f5-
python count.py --vocab "$VOCAB" 2>&1 | tee logs/count.log
echo "log is in logs/count.log"
