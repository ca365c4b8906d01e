# /// case
# cause = "config"
# paper_class = ""
# exit_code = 2
# why = "the launcher refuses an option: usage text and no exception"
# ///
# A launcher option is given a value that it does not know.
echo "import accelerate; print('never reached')" > finetune.py
accelerate launch --num_processes 1 --mixed_precision fp32 --cpu finetune.py --lr 1e-4
