# /// case
# cause = "disk_full"
# exit_code = 1
# needs = ["root"]
# ///
# Staging the data to the node's scratch disk fills it.
mkdir -p data scratch && head -c 6000000 /dev/zero > data/train.bin && head -c 2500000 /dev/zero > data/valid.bin
unshare -m bash -c '
mount -t tmpfs -o size=8m tmpfs scratch
echo "prolog: $(ls data | wc -l) files to stage in"
for f in data/valid.bin data/train.bin; do
    cp -v $f scratch/ || { echo "prolog: stage-in failed, job not started" >&2; exit 1; }
done
'
