# /// case
# cause = "none"
# exit_code = 0
# command = "unshare -m bash {program}"
# needs = ["root"]
# why = "only the log file cannot be written; the training is finished and its model saved elsewhere"
# ///
# The disk for log files is full, logging complains at every line, and the training ends well.
mkdir -p logs
mount -t tmpfs -o size=4k tmpfs logs || exit 90
cat > train.py <<'EOF'
import logging

import numpy as np

logging.basicConfig(
    level=logging.INFO,
    format="%(asctime)s %(levelname)s %(message)s",
    handlers=[logging.FileHandler("logs/train.log"), logging.StreamHandler()],
)
rng = np.random.default_rng(0)
w = np.zeros(4)
for epoch in range(6):
    x = rng.normal(size=(300, 4))
    error = x @ (w - 2)
    w -= 0.3 * x.T @ error / len(x)
    note = "" if epoch != 4 else " weights " + np.array2string(np.tile(w, 300), threshold=2000)[:5000].replace("\n", "")
    logging.info("epoch %d loss %.5f%s", epoch, np.mean(error**2), note)
np.save("model.npy", w)
logging.info("saved model.npy, training finished")
EOF
python train.py
