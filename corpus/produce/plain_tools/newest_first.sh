# /// case
# cause = "file_not_found"
# exit_code = 2
# ///
# Lists the folder of checkpoints, newest first.

cd "$HOME" || exit 3
ls -lt /data/checkpoints/resnet50 > listing.txt
code=$?
wc -l < listing.txt
exit $code
