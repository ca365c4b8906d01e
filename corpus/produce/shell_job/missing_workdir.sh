# /// case
# cause = "file_not_found"
# exit_code = 1
# why = "the working directory is not there; what the Python program says then follows from it"
# ///
# The working directory does not exist, and everything after that fails in turn.
WORK=/scratch/project_462/exp12
cd $WORK || echo "WARNING: could not enter $WORK"
echo "current directory: $PWD" | sed 's#/.*/#.../#'
python src/train.py --config config.yaml
status=$?
if [ $status -ne 0 ]; then
    echo "Training failed with status $status"
    exit 1
fi
