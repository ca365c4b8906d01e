# /// case
# cause = "permission"
# exit_code = 126
# needs = ["root"]
# why = "the scratch file system is mounted noexec, the script has its execute bit"
# ///
# The launcher was unpacked to a scratch disk that is mounted noexec.
mkdir -p scratch
unshare -m bash -c '
mount -t tmpfs -o size=4m,noexec tmpfs scratch
printf "#!/bin/bash\necho step 1 loss 2.1\n" > scratch/launch.sh
chmod +x scratch/launch.sh
echo "unpacked: $(stat -c "%A %n" scratch/launch.sh)"
scratch/launch.sh --nodes 1
code=$?
echo "launch.sh returned $code"
exit $code
'
