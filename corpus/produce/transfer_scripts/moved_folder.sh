# /// case
# cause = "file_not_found"
# exit_code = 23
# needs = ["rsync"]
# ///
# rsync cannot find the folder with the shards on the project storage.
set -u
STORE=$HOME/storage/project-17
mkdir -p "$STORE/shards_v1" scratch
for k in 0 1 2; do head -c 20000 /dev/zero > "$STORE/shards_v1/part-$k.bin"; done
echo "### staging data to local scratch"
rsync -a --stats "$STORE/shards_v1/part-0.bin" "$STORE/shards_v2" scratch/ | grep -E 'Number of|Total'
code=${PIPESTATUS[0]}
if [ "$code" -ne 0 ]; then
    echo "### stage-in failed (rsync exit code $code), not starting the training"
    exit "$code"
fi
