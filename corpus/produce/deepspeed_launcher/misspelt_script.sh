# /// case
# cause = "file_not_found"
# exit_code = 2
# env = {DS_ACCELERATOR = "cpu"}
# why = "the script does not exist; the launcher reports return code 2"
# ///
# The launcher starts a script that is not in the folder.
set -e
export PYTHONUNBUFFERED=1
deepspeed --num_gpus 1 --master_port 29718 tools/finetune.py --model_name_or_path tiny --deepspeed ds.json
echo "fine-tuning finished"
