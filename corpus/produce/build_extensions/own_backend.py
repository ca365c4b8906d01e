# /// case
# cause = "compile_error"
# paper_class = "traceback"
# exit_code = 1
# why = "the back-end of torch.compile fails; the AttributeError in it is its own"
# ///
"""A back-end of the user's own for torch.compile asks the graph for a name it does not have."""

import logging

import torch

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s")
log = logging.getLogger("quantize")


def int8_backend(graph, example_inputs):
    log.info(
        "lowering a graph of %d nodes with %d inputs", len(graph.graph.nodes), len(example_inputs)
    )
    for node in graph.graph.nodes:
        if node.op == "call_function":
            log.info("  %s -> %s", node.name, node.target.kernel_name)
    return graph.forward


@torch.compile(backend=int8_backend)
def step(x, w):
    return torch.relu(x @ w).sum()


w = torch.randn(6, 6)
for i in range(4):
    log.info("step %d value %.3f", i, step(torch.randn(2, 6), w))
