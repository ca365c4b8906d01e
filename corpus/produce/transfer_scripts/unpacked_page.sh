# /// case
# cause = "network"
# paper_class = ""
# exit_code = 2
# why = "the proxy's login page was stored as the archive; tar only finds out"
# ///
# A captive proxy answers 200 with a login page, which tar cannot unpack.
cat > proxy.py <<'EOF'
import http.server
PAGE = b"<html><head><title>Network Login Required</title></head><body>Please log in.</body></html>\n"
class Proxy(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE)
    def log_message(self, *a):
        pass
http.server.HTTPServer(("127.0.0.1", 18474), Proxy).serve_forever()
EOF
python proxy.py & server=$!
trap 'kill $server' EXIT
sleep 2.5
export http_proxy=http://127.0.0.1:18474
set -e
curl -sS -L http://data.example.org/corpus/en-de.tar.gz -o en-de.tar.gz
ls -s en-de.tar.gz | sed 's/^/downloaded: /'
head -c 90 en-de.tar.gz; echo
tar xzf en-de.tar.gz
