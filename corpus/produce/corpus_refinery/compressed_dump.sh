# /// case
# cause = "command_not_found"
# exit_code = 127
# command = "bash {program}"
# ///
# The dump is to be unpacked with a program that this image does not have.
set -e -o pipefail
log() { printf '[%s] %s\n' "$(date '+%F %T')" "$*"; }
log "stage 1: list"
printf 'doc-%s\n' 1 2 3 > docs.txt
wc -l docs.txt
log "stage 2: unpack"
zstd-mt -dc -T4 docs.txt.zst > docs.jsonl
log "stage 3: split"
python - <<'PY'
print(len(open("docs.jsonl").readlines()))
PY
