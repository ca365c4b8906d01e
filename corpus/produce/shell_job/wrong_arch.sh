# /// case
# cause = "command_not_found"
# exit_code = 126
# why = "the trainer cannot be executed as a program (exec format)"
# ///
# The trainer's binary is for another processor.
set -x
mkdir -p bin data
head -c 64 /usr/bin/env > bin/trainer
printf '\xb7' | dd of=bin/trainer bs=1 seek=18 conv=notrunc status=none
chmod +x bin/trainer
seq 1 100 > data/train.txt
wc -l data/train.txt
./bin/trainer --train data/train.txt --epochs 10
