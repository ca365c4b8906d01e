# /// case
# cause = "config"
# paper_class = ""
# exit_code = 1
# why = "the branch given to the job does not exist in its repository"
# ///
# The job checks out a branch that does not exist.
set -e
BRANCH=${EXPERIMENT_BRANCH:-feature/rope-scaling}
git init -q upstream
git -C upstream -c user.name=ci -c user.email=ci@localhost commit -q --allow-empty -m "start"
git clone -q upstream work
cd work
echo "HEAD is $(git rev-parse --abbrev-ref HEAD), switching to $BRANCH"
git checkout "$BRANCH"
python train.py
