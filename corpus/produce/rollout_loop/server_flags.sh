# /// case
# cause = "config"
# exit_code = 1
# why = "the generation server refuses its option, and the trainer waits for it in vain"
# ///
# The rollout server is started with an option that it does not know; the trainer waits for its health.
cat > rollout_server.py <<'PY'
import argparse
from http.server import BaseHTTPRequestHandler, HTTPServer

parser = argparse.ArgumentParser(prog="rollout_server")
parser.add_argument("--port", type=int, default=8071)
parser.add_argument("--max-model-len", type=int, default=2048)
parser.add_argument("--gpu-memory-utilization", type=float, default=0.5)
parser.add_argument("--enforce-eager", action="store_true")
args = parser.parse_args()
HTTPServer(("127.0.0.1", args.port), BaseHTTPRequestHandler).serve_forever()
PY
cat > ppo.py <<'PY'
import logging
import sys
import time
import urllib.error
import urllib.request

import torch

logging.basicConfig(level=logging.INFO, format="%(asctime)s [ppo] %(levelname)s %(message)s")


def wait_for_server(url, seconds):
    start = time.monotonic()
    while time.monotonic() - start < seconds:
        try:
            return urllib.request.urlopen(f"{url}/health", timeout=1)
        except urllib.error.URLError as error:
            logging.info("server is not ready: %s", error.reason)
            time.sleep(1.5)
    raise TimeoutError(f"rollout server {url} did not become healthy within {seconds} s")


policy = torch.nn.Linear(8, 8)
logging.info("policy has %d parameters", sum(p.numel() for p in policy.parameters()))
wait_for_server(sys.argv[1], 6)
PY
python rollout_server.py --port 18471 --max-model-len 1024 --enforce-eager --tensor-parallel 2 &
SERVER=$!
trap 'kill $SERVER 2>/dev/null' EXIT
python ppo.py http://127.0.0.1:18471
