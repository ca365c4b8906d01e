# /// case
# cause = "network"
# paper_class = ""
# exit_code = 128
# ///
# The job's code is cloned from a host whose name nobody resolves.
set -e
export GIT_TERMINAL_PROMPT=0
echo "+ git clone --depth 1 https://git.example.invalid/group/train-lm.git"
git clone --depth 1 https://git.example.invalid/group/train-lm.git code
cd code
echo "+ pip install -e ."
python -m pip install -q -e .
python train.py
