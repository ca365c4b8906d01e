# /// case
# cause = "file_not_found"
# exit_code = 1
# ///
# Copies the shards of a run to another folder, and stops at the one that is missing.

cd "$HOME" || exit 3
set -e
mkdir -p run_a run_b
touch run_a/shard_0.bin run_a/shard_1.bin
for i in 0 1 2; do cp -v run_a/shard_$i.bin run_b/; done
