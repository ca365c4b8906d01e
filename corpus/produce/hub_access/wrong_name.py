# /// case
# cause = "asset"
# paper_class = "traceback"
# exit_code = 1
# why = "the hub knows no model of this name (a slip of the pen)"
# ///
"""A slip in the name of the tokenizer, answered with 404 by a mirror."""

import http.server
import os
import threading


class Mirror(http.server.BaseHTTPRequestHandler):
    def do_HEAD(self):
        self.send_response(404)
        self.send_header("X-Error-Code", "RepoNotFound")
        self.send_header("X-Error-Message", "Repository not found")
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_HEAD

    def log_message(self, format, *args):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Mirror)
threading.Thread(target=server.serve_forever, daemon=True).start()
os.environ["HF_ENDPOINT"] = f"http://127.0.0.1:{server.server_port}"

from transformers import AutoTokenizer  # noqa: E402

tokenizer = AutoTokenizer.from_pretrained("bert-base-unacsed")
print(tokenizer)
