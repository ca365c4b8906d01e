# /// case
# cause = "host_oom"
# paper_class = "ram_oom"
# exit_code = 1
# environment = "jax"
# why = "OOM when allocating a tensor on the CPU, raised as ResourceExhaustedError"
# ///
# The replay buffer is allocated whole, more than the limit on the address space allows.
export TF_CPP_MIN_LOG_LEVEL=1
ulimit -v 10000000
cat > dqn.py << 'PROGRAM'
import argparse

import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument("--capacity", type=int, default=1_000_000)
parser.add_argument("--frame", type=int, default=84)
args = parser.parse_args()
print(f"replay buffer: {args.capacity} frames of {args.frame}x{args.frame}")
q = tf.Variable(tf.random.normal((args.frame**2, 4)) * 0.01)
buffer = tf.Variable(tf.fill((args.capacity, args.frame, args.frame), 0.0))
for step in range(100):
    index = tf.random.uniform((32,), 0, args.capacity, tf.int32)
    frames = tf.reshape(tf.gather(buffer, index), (32, -1))
    print("step", step, "q", float(tf.reduce_mean(frames @ q)))
PROGRAM
python dqn.py
