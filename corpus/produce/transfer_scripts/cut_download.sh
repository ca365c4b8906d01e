# /// case
# cause = "network"
# paper_class = ""
# exit_code = 18
# ///
# A download breaks off before the announced length, twice.
cat > server.py <<'EOF'
import http.server
class Cut(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "5000000")
        self.end_headers()
        self.wfile.write(b"x" * 1200000)
    def log_message(self, *a):
        pass
http.server.ThreadingHTTPServer(("127.0.0.1", 18475), Cut).serve_forever()
EOF
python server.py & server=$!
trap 'kill $server' EXIT
sleep 2.5
for attempt in 1 2; do
    echo "attempt $attempt: imagenet-mini.tar"
    curl -f -# -o imagenet-mini.tar http://127.0.0.1:18475/imagenet-mini.tar && break
    code=$?
    echo "curl failed with $code"
done
[ -z "${code:-}" ] || exit "$code"
