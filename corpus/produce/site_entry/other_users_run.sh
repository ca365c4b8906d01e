# /// case
# cause = "permission"
# exit_code = 1
# needs = ["root"]
# ///
# The run of another user is to be continued; its folder is closed to this one.
mkdir -p runs/exp_0412/ckpt && echo '{"step": 1200}' > runs/exp_0412/ckpt/state.json
chmod 000 runs/exp_0412/ckpt
cat > resume.sh <<'EOS'
set -euo pipefail
latest=$(ls runs/exp_0412/ckpt | sort | tail -1)
echo "resuming from $latest"
python -m json.tool runs/exp_0412/ckpt/"$latest"
EOS
echo "== resume $(date +%T) =="
setpriv --bounding-set=-dac_override,-dac_read_search bash resume.sh
code=$?
chmod 755 runs/exp_0412/ckpt
echo "== exit $code =="
exit 1
