# /// case
# cause = "device_mismatch"
# exit_code = 1
# environment = "jax"
# env = {XLA_FLAGS = "--xla_force_host_platform_device_count=2"}
# ///
"""The parameters live on the first device, the teacher's targets were put on the second."""

import jax
import jax.numpy as jnp

student_device, teacher_device = jax.devices()[:2]
print(f"student on {student_device}, teacher on {teacher_device}")


@jax.jit
def teacher(w, x):
    return jax.nn.softmax(x @ w)


@jax.jit
def distill(w, x, targets):
    def loss_fn(w):
        return -jnp.mean(jnp.sum(targets * jax.nn.log_softmax(x @ w), -1))

    loss, grad = jax.value_and_grad(loss_fn)(w)
    return w - 0.5 * grad, loss


key = jax.random.key(5)
w_teacher = jax.device_put(jax.random.normal(key, (16, 5)), teacher_device)
w = jax.device_put(jnp.zeros((16, 5)), student_device)
for step in range(30):
    x = jax.random.normal(jax.random.fold_in(key, step), (64, 16))
    targets = teacher(w_teacher, jax.device_put(x, teacher_device))
    w, loss = distill(w, jax.device_put(x, student_device), targets)
    print(f"step {step} kl {loss:.4f}")
