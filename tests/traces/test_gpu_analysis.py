"""Analysis of composed GPU traces, of which each number is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gpualert_common.traces.analysis import (
    UNRECORDED,
    GapKind,
    RankAnalysis,
    StepRule,
    TraceAnalysis,
    TracedDevice,
)
from gpualert_common.traces.analyzer import analyse_traces
from gpualert_common.traces.trace_source import TraceSource
from gpualert_common.traces.work_kinds import WorkKind, classify_kernel
from tests.traces.composed import ComposedTrace

GEMM = "sm90_xmma_gemm_bf16bf16_bf16f32"
ADD = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>"
FLASH = "void flash_fwd_kernel<Flash_fwd_kernel_traits<128>>"
REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
COPY = "Memcpy HtoD (Pinned -> Device)"


def analyse(folder: Path, *traces: ComposedTrace) -> TraceAnalysis:
    """Return the analysis of these traces."""
    return analyse_traces(
        [
            TraceSource(f"rank:{one.rank}", one.pid, str(one.write(folder / f"{one.rank}.json")))
            for one in traces
        ]
    )


def analyse_one(folder: Path, trace: ComposedTrace) -> RankAnalysis:
    """Return the analysis of one rank."""
    [rank] = analyse(folder, trace).ranks
    return rank


def microseconds(seconds: float) -> float:
    """Return a time in microseconds, without the errors of binary fractions."""
    return round(seconds * 1e6, 3)


def reduce_call(elements: int, ranks: int = 8, dtype: str = "BFloat16") -> dict[str, Any]:
    """Return the arguments of the kernel of an all_reduce."""
    sizes = {"In msg nelems": elements, "Out msg nelems": elements, "Group size": ranks}
    return {"Collective name": "allreduce", "dtype": dtype, **sizes}


def test_time_by_kind_with_overlap(tmp_path: Path) -> None:
    """Work on two streams counts once for the busy time, and in full for its kind."""
    trace = ComposedTrace()
    trace.annotation("ProfilerStep#3", 0, 1000)
    trace.kernel(COPY, 0, 50, cat="gpu_memcpy", stream=9)
    trace.kernel(GEMM, 100, 300)
    trace.kernel(GEMM, 350, 100, stream=8)  # overlaps for 50 us
    trace.kernel(FLASH, 450, 100)
    trace.kernel(ADD, 550, 50)
    trace.kernel(REDUCE, 500, 300, stream=20)  # hidden until 600, exposed for 200
    one = analyse_one(tmp_path, trace)
    [step] = one.steps
    assert one.device is TracedDevice.GPU
    assert (one.step_rule, step.name) == (StepRule.PROFILER, "3")
    assert microseconds(step.duration_s) == 1000
    assert microseconds(step.work.matmul_s) == 350
    assert microseconds(step.work.attention_s) == 100
    assert microseconds(step.work.other_s) == 50
    assert microseconds(step.work.copies_s) == 50
    assert microseconds(step.work.communication_s) == 300
    assert microseconds(step.hidden_s) == 100
    assert microseconds(step.exposed_s) == 200
    assert microseconds(step.compute_s) == 500
    assert microseconds(step.busy_s) == 750
    assert microseconds(step.idle_s) == 250


def test_a_copy_does_not_hide_communication(tmp_path: Path) -> None:
    """Only computing does: a copy at the same time is no progress of the training."""
    trace = ComposedTrace()
    trace.annotation("ProfilerStep#0", 0, 400)
    trace.kernel(REDUCE, 0, 200, stream=20)
    trace.kernel(COPY, 0, 200, cat="gpu_memcpy", stream=9)
    assert microseconds(analyse_one(tmp_path, trace).total.exposed_s) == 200


KERNELS = {
    "void deep_ep::internode_ll::dispatch<true, 7168>(void*, float*)": WorkKind.COMMUNICATION,
    "void deep_ep::intranode::combine<__nv_bfloat16, 8, 768>(...)": WorkKind.COMMUNICATION,
    "void vllm::cross_device_reduce_2stage<__nv_bfloat16, 8>(...)": WorkKind.COMMUNICATION,
    "void tensorrt_llm::kernels::oneShotAllReduceKernel<float, 8>()": WorkKind.COMMUNICATION,
    "triton_tem_fused_mm_3": WorkKind.MATMUL,
    "triton_tem_fused_addmm_relu_1": WorkKind.MATMUL,
    "triton_tem_fused_bmm": WorkKind.MATMUL,
    "triton_tem_fused__scaled_mm_2": WorkKind.MATMUL,
    "triton_tem_fused_flex_attention_0": WorkKind.ATTENTION,
    "triton_poi_fused_add_mul_0": WorkKind.OTHER,
    "void at::native::bfloat16_copy_kernel_cuda(at::TensorIteratorBase&)": WorkKind.COPIES,
    "void at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)": WorkKind.COPIES,
    "void at::native::index_copy_kernel_impl<float>()": WorkKind.OTHER,
}


@pytest.mark.parametrize("name", KERNELS)
def test_kinds_of_kernels(name: str) -> None:
    """Libraries of communication, compiled code and copies with a conversion have their kinds."""
    assert classify_kernel(name) is KERNELS[name]


def test_each_step_has_its_own_times(tmp_path: Path) -> None:
    """A kernel that runs over the border of two steps counts in both."""
    trace = ComposedTrace()
    for number in range(3):
        trace.annotation(f"ProfilerStep#{number}", 1000 * number, 1000)
    trace.kernel(GEMM, 900, 300)
    one = analyse_one(tmp_path, trace)
    assert [microseconds(step.work.matmul_s) for step in one.steps] == [100, 200, 0]
    assert microseconds(one.total.work.matmul_s) == 300
    assert one.step_count == 3


def test_gaps_have_the_activity_of_the_thread_that_ends_them(tmp_path: Path) -> None:
    """The innermost activity counts, of the thread that launches the next kernel.

    The annotation of a step is no activity.
    """
    trace = ComposedTrace()
    trace.annotation("ProfilerStep#0", 0, 1000)
    trace.kernel(GEMM, 0, 100, launched=0)
    trace.python("<built-in function sleep>", 100, 200)  # gap 100..400
    trace.cpu_op("aten::mm", 350, 60)
    trace.kernel(GEMM, 400, 100, launched=390)
    name = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
    trace.annotation(name, 500, 150)  # gap 500..700
    trace.python("queue.py(154): get", 510, 100)
    trace.runtime("cudaStreamSynchronize", 650, 40)
    trace.kernel(GEMM, 700, 300, launched=695)
    trace.python("threading.py(324): wait", 0, 1000, tid=77)  # another thread
    one = analyse_one(tmp_path, trace)
    found = {gap.label: (gap.kind, microseconds(gap.total_s), gap.gaps) for gap in one.gaps}
    assert found == {
        "<built-in function sleep>": (GapKind.PYTHON, 200, 1),
        UNRECORDED: (GapKind.UNRECORDED, 50 + 5 + 3, 2),
        "aten::mm": (GapKind.ISSUE, 48, 1),
        "cudaLaunchKernel": (GapKind.ISSUE, 2 + 2, 2),
        "DataLoader": (GapKind.INPUT, 150, 1),
        "cudaStreamSynchronize": (GapKind.SYNCHRONIZATION, 40, 1),
    }
    assert sum(time for _, time, _ in found.values()) == microseconds(one.total.idle_s) == 500
    assert microseconds(one.total.work.input_s) == 150


def test_an_annotation_outlasts_the_call_that_begins_it(tmp_path: Path) -> None:
    """Python enters ``record_function`` by one call and leaves it by another, with stacks on."""
    trace = ComposedTrace()
    trace.annotation("ProfilerStep#0", 0, 1000)
    trace.python("train.py(1): main", 0, 1000)
    trace.python("<built-in method _record_function_enter_new>", 100, 20)
    trace.annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 110, 300)
    trace.python("<built-in function sleep>", 150, 200)
    trace.python("<built-in method _record_function_exit>", 405, 20)
    trace.kernel(GEMM, 900, 100, launched=890)
    one = analyse_one(tmp_path, trace)
    assert microseconds(one.total.work.input_s) == pytest.approx(300, abs=10)
    assert {gap.label for gap in one.gaps} == {
        *("train.py(1): main", "DataLoader", "cudaLaunchKernel"),
        "<built-in method _record_function_enter_new>",
    }


def test_unrecorded_times_of_several_steps_are_one_cause(tmp_path: Path) -> None:
    """The annotations of steps have different names, which would split it."""
    trace = ComposedTrace()
    for number in range(3):
        trace.annotation(f"ProfilerStep#{number}", 1000 * number, 1000)
        trace.kernel(GEMM, 1000 * number, 600, launched=1000 * number)
    [cause] = analyse_one(tmp_path, trace).gaps
    assert (cause.label, cause.kind) == (UNRECORDED, GapKind.UNRECORDED)
    assert microseconds(cause.total_s) == 3 * 400


def test_a_wait_for_a_collective_on_the_cpu_is_no_unrecorded_gap(tmp_path: Path) -> None:
    """Without stacks, the annotation of gloo is all that the trace has of a barrier."""
    trace = ComposedTrace()
    trace.annotation("ProfilerStep#0", 0, 1000)
    trace.kernel(GEMM, 0, 100, launched=0)
    trace.annotation("gloo:barrier", 200, 500)
    trace.cpu_op("aten::add", 250, 50)
    trace.kernel(GEMM, 900, 100, launched=890)
    found = {
        gap.label: (gap.kind, microseconds(gap.total_s))
        for gap in analyse_one(tmp_path, trace).gaps
    }
    expected = {"gloo:barrier": (GapKind.COMMUNICATION, 450), "aten::add": (GapKind.ISSUE, 50)}
    assert found.items() >= expected.items()


def test_a_collective_of_gloo_hides_behind_the_operators_that_run_meanwhile(
    tmp_path: Path,
) -> None:
    """An asynchronous one outlasts the call that starts it: operators begin in it and end later."""
    trace = ComposedTrace()
    trace.annotation("ProfilerStep#0", 0, 2000)
    trace.cpu_op("c10d::allreduce_", 0, 25)
    trace.annotation("gloo:all_reduce", 10, 690)
    trace.cpu_op("aten::mm", 50, 450)
    trace.cpu_op("aten::mm", 600, 300)
    total = analyse_one(tmp_path, trace).total
    assert microseconds(total.work.matmul_s) == 750
    assert microseconds(total.work.communication_s) == 700
    assert microseconds(total.hidden_s) == 550
    assert microseconds(total.exposed_s) == 150


def test_a_gap_of_which_nothing_is_recorded_says_so(tmp_path: Path) -> None:
    """Python code between operators leaves no trace without stacks."""
    trace = ComposedTrace()
    trace.annotation("warm-up", 0, 1)
    trace.kernel(GEMM, 0, 100, launched=0)
    trace.kernel(GEMM, 900, 100, launched=895)
    one = analyse_one(tmp_path, trace)
    unknown = next(gap for gap in one.gaps if gap.kind is GapKind.UNRECORDED)
    assert microseconds(unknown.total_s) == 798
    assert one.step_rule is StepRule.NONE


def test_issue_latency_is_from_launch_to_start(tmp_path: Path) -> None:
    """By the correlation of both; copies and kernels without a launch do not count."""
    trace = ComposedTrace()
    for number in range(100):
        at = 1000 * number
        trace.kernel(GEMM, at + (100 if number == 99 else 8), 10, launched=at)
    trace.kernel(COPY, 100_000, 10, launched=99_900, cat="gpu_memcpy", call="cudaMemcpyAsync")
    trace.kernel(GEMM, 100_100, 10)
    latency = analyse_one(tmp_path, trace).latency
    assert latency is not None
    assert latency.kernels == 100
    assert microseconds(latency.median_s) == 8
    assert microseconds(latency.high_s) == 8


def test_a_graph_of_kernels_is_one_launch(tmp_path: Path) -> None:
    """All kernels of a CUDA graph have the correlation of its launch; the first one counts."""
    trace = ComposedTrace()
    trace.kernel(GEMM, 8, 10, launched=0, call="cudaGraphLaunch")
    for number in range(1, 100):
        trace.kernel(GEMM, 20 * number, 10)
        trace.events[-1]["args"]["correlation"] = 1
    latency = analyse_one(tmp_path, trace).latency
    assert latency is not None
    assert (latency.kernels, microseconds(latency.median_s)) == (1, 8)


def test_slowest_operators_and_kernels_have_their_own_time(tmp_path: Path) -> None:
    """The time of an operator is without those that it calls; runtime calls are its own."""
    trace = ComposedTrace()
    trace.cpu_op("aten::linear", 0, 100)
    trace.cpu_op("aten::addmm", 20, 60)
    trace.kernel(GEMM, 200, 500, launched=30)
    trace.kernel(ADD, 700, 20, launched=90)
    one = analyse_one(tmp_path, trace)
    assert [(each.name, each.calls, microseconds(each.total_s)) for each in one.operators] == [
        ("aten::addmm", 1, 60),
        ("aten::linear", 1, 40),
    ]
    assert [(each.name, microseconds(each.total_s)) for each in one.kernels] == [
        (GEMM, 500),
        (ADD, 20),
    ]


BANDWIDTHS = {
    # operation: elements sent and received, and bus bandwidth relative to size by time, on 8 ranks
    "allreduce": (1_000_000, 1_000_000, 1_000_000, 14 / 8),
    "_allgather_base": (125_000, 1_000_000, 1_000_000, 7 / 8),
    "_reduce_scatter_base": (1_000_000, 125_000, 1_000_000, 7 / 8),
    "all_to_allv": (1_000_000, 1_000_000, 1_000_000, 7 / 8),
    "gather": (125_000, 1_000_000, 1_000_000, 7 / 8),
    "scatter": (1_000_000, 125_000, 1_000_000, 7 / 8),
    "broadcast": (1_000_000, 1_000_000, 1_000_000, 1),
    "send": (1_000_000, 0, 1_000_000, 1),
}


@pytest.mark.parametrize("operation", BANDWIDTHS)
def test_bandwidth_is_that_of_the_tests_of_nccl(tmp_path: Path, operation: str) -> None:
    """2 MB in 100 us are 20 GB/s of the algorithm, and a part of it or more on the bus."""
    sent, received, _, factor = BANDWIDTHS[operation]
    trace = ComposedTrace()
    sizes = {"In msg nelems": sent, "Out msg nelems": received, "Group size": 8}
    call: dict[str, Any] = {"Collective name": operation, "dtype": "BFloat16", **sizes}
    for at, us in ((0, 100), (1000, 50), (2000, 400)):
        trace.kernel(REDUCE, at, us, **call)
    [rate] = analyse_one(tmp_path, trace).collectives
    assert (rate.calls, rate.size_bytes, rate.group_size) == (3, 2_000_000, 8)
    assert rate.algorithm_rate == pytest.approx(20e9)
    assert rate.bus_rate == pytest.approx(20e9 * factor)
    assert rate.best_bus_rate == pytest.approx(40e9 * factor)


def test_collectives_of_other_types_and_groups_are_apart(tmp_path: Path) -> None:
    """A call of an unknown type, or of one rank, has no bandwidth."""
    trace = ComposedTrace()
    for at, call in enumerate(
        (
            reduce_call(1000),
            reduce_call(1000, ranks=2),
            reduce_call(1000, dtype="Float"),
            reduce_call(1000, dtype="Float8_e4m3fnuz"),
            reduce_call(1000, dtype="Quaternion"),
            reduce_call(1000, ranks=1),
            reduce_call(0),
            reduce_call(-5),
        )
    ):
        trace.kernel(REDUCE, 100 * at, 10, **call)
    found = {(one.dtype, one.group_size) for one in analyse_one(tmp_path, trace).collectives}
    assert found == {("bfloat16", 8), ("bfloat16", 2), ("float", 8), ("float8_e4m3fnuz", 8)}


def test_bandwidth_is_that_of_the_window(tmp_path: Path) -> None:
    """A call of the warm-up, before the first step, is slow and does not count."""
    trace = ComposedTrace()
    trace.kernel(REDUCE, 0, 5000, **reduce_call(1000))
    trace.annotation("ProfilerStep#0", 6000, 1000)
    trace.kernel(REDUCE, 6100, 100, **reduce_call(1000))
    [rate] = analyse_one(tmp_path, trace).collectives
    assert (rate.calls, microseconds(rate.total_s)) == (1, 100)


GROUPS: dict[str, tuple[list[int], set[int]]] = {
    "the world": ([4], {4}),
    "the world twice": ([4, 4], {4}),
    "a smaller group, too": ([4, 2], set()),
    "not known": ([], set()),
}


@pytest.mark.parametrize("case", GROUPS)
def test_bandwidth_of_gloo_needs_a_known_group(tmp_path: Path, case: str) -> None:
    """Its annotation has no group, so that all groups of the rank have to have one size."""
    sizes, expected = GROUPS[case]
    trace = ComposedTrace(0, 4)
    trace.head["distributedInfo"]["pg_config"] = [{"pg_size": size} for size in sizes]
    tensors: dict[str, Any] = {"Input Dims": [[1000]], "Input type": ["c10::BFloat16"]}
    trace.annotation("gloo:all_reduce", 0, 100, **tensors)
    trace.cpu_op("aten::add", 0, 10)
    assert {one.group_size for one in analyse_one(tmp_path, trace).collectives} == expected


BACKWARD = ("[0, 0]", "1", "[True, True, True]")
WEIGHT_ONLY = ("[0, 0]", "1", "[False, True, True]")
OPERATIONS: dict[str, tuple[str, list[Any], list[str], float]] = {
    "mm": ("aten::mm", [[64, 128], [128, 32]], [], 2 * 64 * 128 * 32),
    "addmm": ("aten::addmm", [[32], [64, 128], [128, 32], []], [], 2 * 64 * 128 * 32),
    "bmm": ("aten::bmm", [[4, 64, 128], [4, 128, 32]], [], 4 * 2 * 64 * 128 * 32),
    "linear": ("aten::linear", [[2, 64, 128], [32, 128], [32]], [], 2 * 2 * 64 * 128 * 32),
    "attention": (
        "aten::scaled_dot_product_attention",
        [[2, 8, 64, 16], [2, 8, 32, 16], [2, 8, 32, 16]],
        [],
        2 * 2 * 8 * 64 * 32 * (16 + 16),
    ),
    "convolution": (
        "aten::conv2d",
        [[2, 3, 32, 32], [16, 3, 3, 3], [16], [], [], [], []],
        ["", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "1"],
        2 * 2 * 16 * 16 * 16 * 3 * 3 * 3,
    ),
    "convolution that is transposed": (
        "aten::convolution",
        [[2, 3, 8, 8], [3, 4, 3, 3], [4], [], [], [], [], [], []],
        ["", "", "", "[2, 2]", "[0, 0]", "[1, 1]", "True", "[0, 0]", "1"],
        2 * 2 * 8 * 8 * 3 * 4 * 3 * 3,
    ),
    "convolution, backward": (
        "aten::convolution_backward",
        [[2, 4, 6, 6], [2, 3, 8, 8], [4, 3, 3, 3], *[[]] * 8],
        ["", "", "", "[4]", "[1, 1]", "[0, 0]", "[1, 1]", "False", *BACKWARD],
        2 * 2 * 2 * 6 * 6 * 3 * 4 * 3 * 3,
    ),
    "convolution, backward, of the weight only": (
        "aten::convolution_backward",
        [[2, 4, 6, 6], [2, 3, 8, 8], [4, 3, 3, 3], *[[]] * 8],
        ["", "", "", "[4]", "[1, 1]", "[0, 0]", "[1, 1]", "False", *WEIGHT_ONLY],
        2 * 2 * 6 * 6 * 3 * 4 * 3 * 3,
    ),
    "convolution that is transposed, backward": (
        "aten::convolution_backward",
        [[2, 4, 17, 17], [2, 3, 8, 8], [3, 4, 3, 3], *[[]] * 8],
        ["", "", "", "[4]", "[2, 2]", "[0, 0]", "[1, 1]", "True", *BACKWARD],
        2 * 2 * 2 * 8 * 8 * 3 * 4 * 3 * 3,
    ),
    "convolution, backward, without its arguments": (
        "aten::convolution_backward",
        [[2, 4, 6, 6], [2, 3, 8, 8], [4, 3, 3, 3]],
        [],
        0,
    ),
    "inner sizes that differ": ("aten::mm", [[64, 128], [64, 32]], [], 0),
    "no shape": ("aten::mm", [[], []], [], 0),
    "negative": ("aten::mm", [[-64, 128], [128, 32]], [], 0),
    "absurd": ("aten::mm", [[1 << 40, 1 << 40], [1 << 40, 1 << 40]], [], 0),
    "a text": ("aten::mm", ["x", "y"], [], 0),
    "stride 0": (
        "aten::conv2d",
        [[2, 3, 32, 32], [16, 3, 3, 3], [16]],
        ["", "", "", "[0, 0]", "[1, 1]", "[1, 1]", "1"],
        0,
    ),
    "not counted": ("aten::mul", [[64, 128], [64, 128]], [], 0),
}


@pytest.mark.parametrize("case", OPERATIONS)
def test_operations_follow_from_shapes(tmp_path: Path, case: str) -> None:
    """Wrong shapes count nothing."""
    name, dims, values, expected = OPERATIONS[case]
    trace = ComposedTrace()
    shapes: dict[str, Any] = {"Input Dims": dims, "Concrete Inputs": values}
    trace.cpu_op(name, 0, 10, **shapes)
    assert analyse_one(tmp_path, trace).operations == expected


def test_an_operator_within_another_one_counts_once(tmp_path: Path) -> None:
    """aten::linear calls aten::addmm; both have shapes."""
    trace = ComposedTrace()
    shapes: dict[str, Any] = {"Input Dims": [[64, 128], [32, 128], [32]]}
    inner: dict[str, Any] = {"Input Dims": [[32], [64, 128], [128, 32], [], []]}
    for at in (0, 100):
        trace.cpu_op("aten::linear", at, 50, **shapes)
        trace.cpu_op("aten::addmm", at + 10, 30, **inner)
    assert analyse_one(tmp_path, trace).operations == 2 * 2 * 64 * 128 * 32


def test_steps_by_the_optimizer(tmp_path: Path) -> None:
    """Without ProfilerStep, a step goes from one end of an optimizer's step to the next."""
    trace = ComposedTrace()
    for number in range(4):
        trace.annotation("Optimizer.step#AdamW.step", 1000 * number + 900, 100)
        trace.kernel(GEMM, 1000 * number + 100, 300)
    one = analyse_one(tmp_path, trace)
    assert (one.step_rule, one.step_count) == (StepRule.OPTIMIZER, 3)
    assert {microseconds(step.duration_s) for step in one.steps} == {1000}
    assert {microseconds(step.work.matmul_s) for step in one.steps} == {300}


def test_steps_by_repetition(tmp_path: Path) -> None:
    """Without any annotation, the rarest kernel that comes back at equal distances marks steps."""
    trace = ComposedTrace()
    for number in range(6):
        start = 10_000 * number + 137 * (number % 2)
        for layer in range(12):
            trace.kernel(GEMM, start + 700 * layer, 500)
        trace.kernel("multi_tensor_apply_kernel", start + 9000, 100)
    one = analyse_one(tmp_path, trace)
    assert (one.step_rule, one.step_sign) == (StepRule.REPETITION, "multi_tensor_apply_kernel")
    assert one.step_count == 5


def test_work_without_a_period_has_no_steps(tmp_path: Path) -> None:
    """The whole trace then counts as one, and the analysis says so."""
    trace = ComposedTrace()
    for at in (0, 100, 5_000, 5_100, 90_000):
        trace.kernel(GEMM, at, 50)
    one = analyse_one(tmp_path, trace)
    assert (one.step_rule, one.step_count, one.steps) == (StepRule.NONE, 0, ())
    assert microseconds(one.total.duration_s) == 90_050
