# /// case
# cause = "asset"
# paper_class = "traceback"
# exit_code = 1
# why = "the model folder holds the pointer of large-file storage instead of the weights: local model folder incomplete"
# ///
# The cloned model folder holds a pointer file in place of the weights.
mkdir -p models/tiny
cat > models/tiny/model.safetensors <<'EOF'
version https://git-lfs.github.com/spec/v1
oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393
size 548105171
EOF
echo "git-lfs: not installed, skipping smudge filters"
ls -l --time-style=+ models/tiny | awk '{print $5, $6}'
python - <<'EOF'
from safetensors.numpy import load_file
weights = load_file("models/tiny/model.safetensors")
print(len(weights), "tensors")
EOF
