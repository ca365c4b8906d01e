# /// case
# cause = "network"
# paper_class = "traceback"
# exit_code = 1
# ///
"""The connection is closed in the middle of a large file, again and again."""

import http.server
import os
import socket
import threading


class Hub(http.server.BaseHTTPRequestHandler):
    """Promises 8 MB and closes after one."""

    def headers_of_file(self):
        self.send_response(200)
        self.send_header("X-Repo-Commit", "5f91d94bd9cd7190a9f3216ff93cd1dd95f2c7be")
        self.send_header("ETag", '"d41d8cd98f00b204e9800998ecf8427e"')
        self.send_header("Content-Length", str(8 << 20))
        self.end_headers()

    def do_HEAD(self):
        self.headers_of_file()

    def do_GET(self):
        self.headers_of_file()
        self.wfile.write(bytes(1 << 20))
        self.wfile.flush()
        self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, format, *args):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
threading.Thread(target=server.serve_forever, daemon=True).start()
os.environ["HF_ENDPOINT"] = f"http://127.0.0.1:{server.server_port}"

from huggingface_hub import hf_hub_download  # noqa: E402

path = hf_hub_download("acme/llama-tiny", "model-00001-of-00002.safetensors")
print(path)
