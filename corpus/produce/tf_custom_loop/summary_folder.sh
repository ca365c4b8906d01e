# /// case
# cause = "permission"
# exit_code = 1
# environment = "jax"
# needs = ["root"]
# why = "TensorFlow's PermissionDeniedError about the folder of the summaries"
# ///
# The summaries go to a folder of another group, which may not be written.
mkdir -p boards/team && chmod 555 boards/team
cat > loop.py << 'PROGRAM'
import tensorflow as tf

tf.get_logger().setLevel("INFO")
writer = tf.summary.create_file_writer("boards/team/run-17")
w = tf.Variable([1.0, -1.0])
with writer.as_default():
    for step in range(20):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(w**2)
        w.assign_sub(0.1 * tape.gradient(loss, w))
        tf.summary.scalar("loss", loss, step=step)
        print(f"step {step}: {loss.numpy():.4f}")
PROGRAM
export TF_CPP_MIN_LOG_LEVEL=1
exec setpriv --bounding-set=-dac_override,-dac_read_search,-fowner python loop.py
