# /// case
# cause = "command_not_found"
# exit_code = 127
# why = "env does not find the interpreter"
# ///
# env does not find the interpreter of the module that was loaded before.
echo "Loading module python/3.9-conda"
cat > main.py <<'EOF'
#!/usr/bin/env python3.9-conda
print("hello")
EOF
chmod u+x main.py
for seed in 1 2; do
    ./main.py --seed $seed || { rc=$?; echo "seed $seed: failed ($rc)"; break; }
done
exit $rc
