# /// case
# cause = "network"
# paper_class = ""
# exit_code = 255
# needs = ["rsync"]
# why = "the connection to the storage host ends before the transfer does"
# ///
# The remote shell of rsync ends in mid-transfer.
mkdir -p data scratch
head -c 30000000 /dev/urandom > data/train.bin
cat > remote.sh <<'EOF'
#!/bin/bash
shift
exec 3>&2 2> /dev/null
timeout -s KILL 1 "$@"
echo "client_loop: send disconnect: Broken pipe" >&3
exit 255
EOF
chmod +x remote.sh
echo "$(date +%T) copying data to storage02"
rsync -a --bwlimit=2000 -e ./remote.sh data/ storage02:"$PWD"/scratch/
code=$?
echo "$(date +%T) rsync exited with $code"
exit $code
