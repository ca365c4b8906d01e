# /// case
# cause = "network"
# paper_class = "traceback"
# exit_code = 1
# ///
# The mirror shows a certificate that nobody here trusts.
openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 \
    -subj "/CN=localhost" -addext "subjectAltName=DNS:localhost" 2> /dev/null
cat > mirror.py << 'EOF'
import http.server
import ssl

server = http.server.ThreadingHTTPServer(("127.0.0.1", 18443), http.server.SimpleHTTPRequestHandler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("cert.pem", "key.pem")
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
EOF
python mirror.py > /dev/null 2>&1 &
mirror=$!
sleep 1
export HF_ENDPOINT=https://localhost:18443
python - << 'EOF'
from huggingface_hub import snapshot_download

folder = snapshot_download("openai/whisper-tiny", allow_patterns=["*.json", "*.safetensors"])
print(folder)
EOF
status=$?
kill $mirror
exit $status
