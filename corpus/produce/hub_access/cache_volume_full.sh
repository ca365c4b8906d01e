# /// case
# cause = "disk_full"
# paper_class = "traceback"
# exit_code = 1
# environment = "hf4"
# command = "unshare -m bash {program}"
# needs = ["root"]
# ///
# The cache of downloaded models lies on a volume that is full.
mkdir -p cache && mount -t tmpfs -o size=2m tmpfs cache
export HF_HOME=$PWD/cache HF_HUB_DISABLE_XET=1
cat > fetch.py << 'EOF'
import http.server
import os
import threading


class Hub(http.server.BaseHTTPRequestHandler):
    def do_HEAD(self):
        self.send_response(200)
        self.send_header("X-Repo-Commit", "5f91d94bd9cd7190a9f3216ff93cd1dd95f2c7be")
        self.send_header("ETag", '"900150983cd24fb0d6963f7d28e17f72"')
        self.send_header("Content-Length", str(6 << 20))
        self.end_headers()

    def do_GET(self):
        self.do_HEAD()
        try:
            self.wfile.write(bytes(6 << 20))
        except OSError:
            pass

    def log_message(self, format, *args):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
threading.Thread(target=server.serve_forever, daemon=True).start()
os.environ["HF_ENDPOINT"] = f"http://127.0.0.1:{server.server_port}"

from huggingface_hub import hf_hub_download

print(hf_hub_download("acme/encoder", "pytorch_model.bin"))
EOF
python fetch.py
