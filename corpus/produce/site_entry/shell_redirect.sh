# /// case
# cause = "permission"
# exit_code = 1
# needs = ["root"]
# ///
# The shell of the job cannot open the log file, so that the training is never started.
mkdir -p /var/tmp/p5_logs && : > /var/tmp/p5_logs/train_2026.log && chmod 444 /var/tmp/p5_logs/train_2026.log
ln -s /var/tmp/p5_logs logs
cat > start.sh <<'EOS'
echo "+ node $(nproc) cores, $(date -u +%FT%TZ)"
python -c 'print("epoch 0 loss 0.71")' >> logs/train_2026.log 2>&1
code=$?
echo "+ train ended with $code"
exit $code
EOS
setpriv --bounding-set=-dac_override,-fowner bash start.sh
code=$?
rm -r /var/tmp/p5_logs
exit $code
