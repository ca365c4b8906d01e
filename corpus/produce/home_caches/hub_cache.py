# /// case
# cause = "permission"
# exit_code = 1
# command = "setpriv --bounding-set=-dac_override,-dac_read_search,-fowner python {program}"
# env = { HF_HUB_DISABLE_TELEMETRY = "1" }
# needs = ["root"]
# why = "the mirror answers; the cache of another user may not be written"
# ///
"""The shared cache of the hub belongs to another user, so the files that the mirror offers cannot be stored."""

import hashlib
import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CONFIG = json.dumps({"model_type": "bert", "hidden_size": 32}).encode()


class Mirror(BaseHTTPRequestHandler):
    def do_HEAD(self):
        self.send_response(200)
        self.send_header("Content-Length", str(len(CONFIG)))
        self.send_header("ETag", hashlib.sha1(CONFIG).hexdigest())
        self.send_header("X-Repo-Commit", "a" * 40)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(CONFIG)

    do_GET = do_HEAD

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Mirror)
threading.Thread(target=server.serve_forever, daemon=True).start()
os.makedirs("shared/hf")
os.chmod("shared/hf", 0o555)
os.environ.update(HF_HOME="shared/hf", HF_ENDPOINT=f"http://127.0.0.1:{server.server_port}")

from transformers import AutoConfig  # noqa: E402

print("HF_HOME =", os.environ["HF_HOME"])
config = AutoConfig.from_pretrained("acme/tiny-bert")
print(config)
