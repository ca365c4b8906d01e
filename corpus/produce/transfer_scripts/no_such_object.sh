# /// case
# cause = "asset"
# paper_class = ""
# exit_code = 8
# why = "the server answers 404 for a pretrained model that is asked for by name"
# ///
# wget is told 404 for the weights of a model by name.
python - <<'EOF' &
import http.server
class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *a):
        pass
http.server.HTTPServer(("127.0.0.1", 18473), Quiet).serve_forever()
EOF
server=$!
trap 'kill $server' EXIT
sleep 2.5
echo "== downloading pretrained model resnet50-v9"
set -e
wget --tries=2 --no-verbose http://127.0.0.1:18473/models/resnet50-v9.pth -O resnet50.pth
echo "== training"
python train.py --init resnet50.pth
