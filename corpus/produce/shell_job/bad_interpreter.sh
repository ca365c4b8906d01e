# /// case
# cause = "command_not_found"
# exit_code = 127
# why = "the interpreter named in the first line does not exist"
# ///
# The script asks for an interpreter of a machine that has been replaced.
cat > finetune.py <<'EOF'
#!/opt/conda/envs/llm/bin/python
import torch

print(torch.__version__)
EOF
chmod +x finetune.py
free -g | head -2
echo "+ ./finetune.py --lr 2e-5"
./finetune.py --lr 2e-5
code=$?
echo "finetune.py returned $code"
exit $code
