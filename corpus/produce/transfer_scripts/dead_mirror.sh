# /// case
# cause = "network"
# paper_class = ""
# exit_code = 7
# ///
# curl retries a dead mirror three times before the script gives up.
set -euo pipefail
URL=http://127.0.0.1:9/datasets/wikitext-103.tar.gz
echo "[stage-in] fetching $URL"
mkdir -p data
curl --fail --silent --show-error --retry 3 --retry-delay 1 --retry-connrefused -o data/wt103.tar.gz "$URL"
tar xzf data/wt103.tar.gz -C data
echo "[stage-in] complete"
