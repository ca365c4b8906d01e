# /// case
# cause = "none"
# exit_code = 0
# why = "two attempts fail with connection errors, a later one succeeds and the training ends"
# ///
# The storage server is slow to come up: failed attempts, then all goes well.
mkdir -p web && seq 1 500 > web/train.txt
(sleep 3; exec python -m http.server 18476 --bind 127.0.0.1 --directory web 2> /dev/null) & server=$!
trap 'kill $server 2> /dev/null' EXIT
for attempt in 1 2 3 4 5 6 7 8 9 10 11 12; do
    if curl -fsS -o train.txt http://127.0.0.1:18476/train.txt; then break; fi
    echo "WARNING: download failed (attempt $attempt), retrying in 2 s" >&2
    sleep 2
done
python - <<'EOF'
rows = [float(line) for line in open("train.txt")]
mean = sum(rows) / len(rows)
for epoch in range(3):
    print(f"epoch {epoch} loss {mean / 10 ** epoch:.3f} errors 0")
EOF
echo "job finished, exit code 0"
