"""Trainings for the pages: two that fail, one that runs until a file says so, and one that ends."""

import datetime
import os
from pathlib import Path

from airflow.sdk import DAG
from gpualert_provider.operators.gpualert import GPUAlertOperator

GO_ON = Path(os.environ["MATRIX_OUTPUTS"], "go-on")

_STEPS = """
for step in $(seq 1 40); do
  echo "step $step/200 loss $((400 - step * 3)).5e-2 lr 0.1"
done
"""
_OOM = (
    _STEPS
    + """
echo "Traceback (most recent call last):" >&2
echo '  File "/srv/train.py", line 88, in <module>' >&2
echo "    loss.backward()" >&2
echo "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total \
capacity of 79.15 GiB of which 3.12 GiB is free." >&2
exit 1
"""
)
_LIVE = _STEPS + f"until [ -e {GO_ON} ]; do sleep 0.2; done; echo 'step 200/200 loss 0.5 lr 0.1'"
_HOSTILE = (
    r"printf '<script>document.title=1</script><img src=x onerror=alert(1)>\n';"
    r"printf '\033[31m\033]0;title\007\342\200\256drowssap\n';"
    r"head -c 2000000 /dev/zero | tr '\0' x; echo;"
    r"""echo 'RuntimeError: </pre></main><svg onload="document.title=1">"""
    r"""<style>*{display:none}</style>';"""
    "exit 1"
)

with DAG("trainings", schedule=None, default_args={"retry_by_cause": False}) as dag:
    GPUAlertOperator(
        task_id="fails", bash_command=_OOM, retries=1, retry_delay=datetime.timedelta(seconds=1)
    )
    GPUAlertOperator(task_id="lives", bash_command=_LIVE)
    GPUAlertOperator(task_id="ends", bash_command=_STEPS)
    GPUAlertOperator.partial(task_id="hostile").expand(bash_command=[_HOSTILE])

with DAG("open_trainings", schedule=None) as open_dag:
    GPUAlertOperator(
        task_id="fails", bash_command="echo 'ModuleNotFoundError: No module named x'; exit 1"
    )
