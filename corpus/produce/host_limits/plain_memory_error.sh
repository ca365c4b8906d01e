# /// case
# cause = "host_oom"
# exit_code = 1
# why = "a MemoryError without a word, after which the interpreter cannot import its own modules"
# ///
# Python's own objects fill the address space: a MemoryError without a message.
cat > vocab.py <<'EOF'
import sys


def read(path):
    counts = {}
    for i in range(200_000_000):
        token = f"token-{i:09d}-{'x' * 200}"
        counts[token] = counts.get(token, 0) + 1
        if i % 100_000 == 0:
            sys.stdout.write(f"\r{i:>10} lines, {len(counts):>10} types")
            sys.stdout.flush()
    return counts


print("building vocabulary from wiki.train.tokens")
print(len(read("wiki.train.tokens")))
EOF
echo "limits: $(ulimit -v 400000; ulimit -v) KB of address space"
ulimit -v 400000
python vocab.py
