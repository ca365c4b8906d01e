# /// case
# cause = "host_oom"
# paper_class = "ram_oom"
# exit_code = 139
# environment = "jax"
# why = "OOM when allocating a tensor on the CPU; that the process then crashes follows from it"
# ///
# The batch grows until the memory of the host does not suffice.
export TF_CPP_MIN_LOG_LEVEL=0
ulimit -v 12000000
cat > grow.py << 'PROGRAM'
import tensorflow as tf

conv = tf.Variable(tf.random.normal((3, 3, 3, 64)) * 0.05)
for batch in (1, 4, 64, 2048):
    images = tf.zeros((batch, 256, 256, 3))
    with tf.GradientTape() as tape:
        out = tf.nn.relu(tf.nn.conv2d(images, conv, 1, "SAME"))
        loss = tf.reduce_mean(out)
    grad = tape.gradient(loss, conv)
    print(f"batch {batch}: loss {loss.numpy():.3f} grad {tf.norm(grad).numpy():.3f}", flush=True)
PROGRAM
python grow.py
