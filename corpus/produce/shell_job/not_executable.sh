# /// case
# cause = "permission"
# exit_code = 126
# why = "the script lacks the execute bit"
# ///
# The entry point was committed without its execute bit.
mkdir -p scripts
printf '#!/bin/bash\nexec python -m trainer "$@"\n' > scripts/run_pretrain.sh
chmod 644 scripts/run_pretrain.sh
echo "[entrypoint] $(date '+%Y-%m-%d %H:%M:%S') starting scripts/run_pretrain.sh"
echo "[entrypoint] args: --size 125m --tokens 1B"
exec scripts/run_pretrain.sh --size 125m --tokens 1B
