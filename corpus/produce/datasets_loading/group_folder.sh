# /// case
# cause = "permission"
# exit_code = 1
# needs = ["root"]
# ///
# The folder of the group may be read but not written.
mkdir -p groups/nlp/tokenized
chmod 555 groups/nlp/tokenized
echo '{"text": "hello", "label": 0}' > train.jsonl
cat > prepare.py << 'EOF'
from datasets import load_dataset

train = load_dataset("json", data_files="train.jsonl", split="train")
print(train.features)
train.save_to_disk("groups/nlp/tokenized/v2")
EOF
exec setpriv --bounding-set=-dac_override,-dac_read_search,-fowner python prepare.py
