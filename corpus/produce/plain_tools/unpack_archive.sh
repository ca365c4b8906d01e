# /// case
# cause = "file_not_found"
# exit_code = 2
# ///
# Unpacks an archive that is not there.

cd "$HOME" || exit 3
mkdir -p images && tar -xzf /data/archives/imagenet_val.tar.gz -C images
