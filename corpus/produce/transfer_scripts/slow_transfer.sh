# /// case
# cause = "time_limit"
# paper_class = ""
# exit_code = 124
# needs = ["rsync"]
# why = "the transfer makes progress until the script's own limit ends it"
# ///
# A slow copy is ended by the script's own limit.
mkdir -p data scratch
for k in 0 1 2 3 4 5 6 7; do head -c 1500000 /dev/urandom > data/part-$k.bin; done
echo "staging with a limit of 6 s"
timeout 6 rsync -a --bwlimit=1000 --out-format='%n %l' data/ scratch/
code=$?
[ $code -eq 0 ] || { echo "stage-in did not end in time: rc=$code"; exit $code; }
