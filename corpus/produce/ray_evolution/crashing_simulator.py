# /// case
# cause = "segfault"
# exit_code = 1
# timeout_s = 150
# why = "the stack of a SIGSEGV stands in the worker's output; ray itself only lists what may have happened"
# ///
"""The native simulator of an actor crashes; ray reports an actor that died, the worker prints its stack."""

import ctypes
import faulthandler

import ray

ray.init(num_cpus=1, include_dashboard=False, logging_level="warning")


@ray.remote
class Simulator:
    def __init__(self):
        faulthandler.enable()

    def rollout(self, seed):
        address = 64 if seed == 4 else id(self)
        return seed, ctypes.string_at(address, 1)[0] % 2 + seed


simulator = Simulator.remote()
for seed in range(8):
    _, score = ray.get(simulator.rollout.remote(seed))
    print(f"rollout {seed}: score {score}", flush=True)
