# /// case
# cause = "filesystem_io"
# paper_class = "traceback"
# exit_code = 120
# command = "bash {program}"
# why = "the reader of the pipe takes three lines and leaves; the writer gets a broken pipe, and pipefail makes its status that of the job"
# ///
# A sample of a stream is taken with head, under pipefail.
set -o pipefail
cat > stream.py <<'PY'
import json
import sys

print("streaming documents", file=sys.stderr)
for number in range(200000):
    sys.stdout.write(json.dumps({"id": number, "text": "lorem ipsum " * 5}) + "\n")
    sys.stdout.flush()
print("stream complete", file=sys.stderr)
PY
python stream.py | head -n 3
status=$?
echo "exit status of the sample stage: $status"
exit $status
