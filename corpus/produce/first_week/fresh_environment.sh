# /// case
# cause = "missing_module"
# exit_code = 1
# why = "the new virtual environment was made and nothing was installed into it; the pip that lists torch is that of another environment"
# ///
# A fresh virtual environment is made for the project, and the requirements were never installed.
set -e
cat > finetune.py <<'PY'
import argparse
import json
import os

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=1e-3)
args = parser.parse_args()
model = nn.Linear(4, 1)
print(json.dumps(vars(args)), os.getpid(), model)
PY
echo "== setting up"
[ -d env ] || python -m venv --without-pip env
. env/bin/activate
echo "using $(basename "$(dirname "$(dirname "$(command -v python)")")")/bin/python, $(python --version)"
pip list 2>/dev/null | grep -i -E '^torch ' || true
echo "== training"
python finetune.py --lr 3e-4
