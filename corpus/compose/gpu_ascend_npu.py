"""Training on Ascend 910B: torch_npu 2.1 to 2.6, CANN 8.0 to 8.2, MindSpeed and MindSpore."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from corpus.compose._cluster_blocks import log
from corpus.compose._gpu_hosts import steps
from corpus.compose._gpu_tape import Tape, mixed, rank, traceback
from corpus.compose._gpu_torch import Exit, summary
from corpus.compose.composed_log import ComposedLog

_BASIS = "CANN 8.0-8.2 troubleshooting reference (error codes EI0002, EI0006, EL0004, EE9999, EZ9999), torch_npu 2.1-2.6 sources (NPU function error, ERRxxxxx codes), MindSpeed-LLM, npu-smi reference, MindSpore 2.4"
_SITE = "/usr/local/python3.10.13/lib/python3.10/site-packages"


def logs() -> Iterator[ComposedLog]:
    """Cards of a node of eight, nodes of a pod, and what CANN reports of them."""
    yield _high_bandwidth_memory_full()
    yield _notify_never_recorded()
    yield _vector_core_exception()
    yield _toolkit_not_sourced()
    yield _socket_of_the_peer()
    yield _operator_does_not_compile()
    yield _double_bit_error()
    yield _heads_of_the_group()
    yield _host_memory_of_the_loader()
    yield _timeout_set_aside()


def _trace(
    frames: str, error: str, number: int | None = None, root: str = "/home/ma-user/MindSpeed-LLM"
) -> str:
    text = traceback(frames, error, root=root, site=_SITE)
    return text if number is None else rank(number, text)


def _err(tape: Tape, pid: int, device: int, code: str, text: str, number: int = -1) -> str:
    return f"[ERROR] {tape.when('%Y-%m-%d-%H:%M:%S')} (PID:{pid}, Device:{device}, RankID:{number}) {code} {text}"


def _ended(
    tape: Tape,
    exits: Sequence[Exit],
    killed: Sequence[int],
    host: str = "modelarts-job-0",
    script: str = "pretrain_gpt.py",
) -> None:
    tape.say(
        summary(
            tape,
            "2.1",
            script,
            exits,
            host=host,
            binary="/usr/local/python3.10.13/bin/python3.10",
            site=_SITE,
            launcher="/usr/local/python3.10.13/bin/torchrun",
            killed=killed,
        )
    )


def _banner(tape: Tape) -> None:
    tape.say(
        f"{_SITE}/torch_npu/contrib/transfer_to_npu.py:301: ImportWarning: \n    *************************************************************************************************************\n    The torch.Tensor.cuda and torch.nn.Module.cuda are replaced with torch.Tensor.npu and torch.nn.Module.npu now..\n    The torch.cuda.DoubleTensor is replaced with torch.npu.FloatTensor cause the double type is not supported now..\n    The backend in torch.distributed.init_process_group set to hccl now..\n    The torch.cuda.* and torch.cuda.amp.* are replaced with torch.npu.* and torch.npu.amp.* now..\n    *************************************************************************************************************\n    \n  warnings.warn(msg, ImportWarning)",
        "/usr/local/Ascend/ascend-toolkit/latest owner does not match the current owner."
        if tape.seed % 2
        else "using torch.bfloat16 for parameters ...",
        "> setting tensorboard ...",
        "> initialized tensor model parallel with size 8\n> initialized pipeline model parallel with size 1",
        "> setting random seeds to 1234 ...",
        "[W compiler_depend.ts:623] Warning: expandable_segments currently defaults to false. You can enable this feature by `export PYTORCH_NPU_ALLOC_CONF = expandable_segments:True`. (function operator())",
    )


_ITER = " iteration {step:8d}/    5000 | consumed samples: {step:12d} | elapsed time per iteration (ms): {time:.1f} | learning rate: {lr:.6E} | global batch size:   256 | lm loss: {loss:.6E} | loss scale: 1.0 | grad norm: {norm:.3f} | number of skipped iterations:   0 | number of nan iterations:   0 |"


def _high_bandwidth_memory_full() -> ComposedLog:
    tape = Tape(9401, "2025-03-14 10:00:01")
    _banner(tape)
    tape.say(
        steps(tape, _ITER, range(1, 30), seconds=12),
        mixed(
            tape,
            *(
                _trace(
                    """
                    pretrain_gpt.py:121 <module> | main()
                    mindspeed_llm/training/training.py:412 pretrain | iteration, num_floating_point_operations_so_far = train(*train_args)
                    mindspeed_llm/training/training.py:565 train_step | losses_reduced = forward_backward_func(
                    megatron/core/pipeline_parallel/schedules.py:265 forward_step | output_tensor, loss_func = forward_step_func(data_iterator, model)
                    megatron/core/tensor_parallel/cross_entropy.py:71 forward | exp_logits = torch.exp(vocab_parallel_logits)
                    """,
                    f"RuntimeError: NPU out of memory. Tried to allocate 4.64 GiB (NPU {number}; 60.97 GiB total capacity; 54.02 GiB already allocated; 54.02 GiB current active; 1.98 GiB free; 57.76 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.",
                    number,
                )
                for number in (0, 5)
            ),
        ),
        _err(tape, 1790, 0, "ERR99999", "UNKNOWN applicaiton exception", 0),
    )
    _ended(tape, [Exit(0, 1, 1790), Exit(5, 1, 1795)], (1791, 1792, 1793, 1794, 1796, 1797))
    return log(
        tape,
        "high_bandwidth_memory_full",
        "cuda_oom",
        1,
        _BASIS,
        command="bash pretrain_llama3_8b_ptd.sh",
        torch_npu="2.1.0.post10",
        cann="8.0.RC3",
    )


def _notify_never_recorded() -> ComposedLog:
    tape = Tape(9402, "2025-05-27 01:00:00")
    _banner(tape)
    tape.say(steps(tape, _ITER, range(1210, 1251), seconds=11))
    tape.wait(1836)
    for number in (3, 11):
        tape.say(
            f"[rank{number}]:[E compiler_depend.ts:429] call aclrtSynchronizeEvent failed, error code is 507048",
            rank(
                number,
                f"""
            EI0002: [PID: {2200 + number}] {tape.when("%Y-%m-%d-%H:%M:%S")}.104.771 The wait execution of the Notify register times out. Reason: The Notify register has not received the Notify record from remote rank [6]. base information: [streamID:[41], taskID[7], tag[AllReduce_10.8.0.4%enp_60000_0_1748307600], AlgType(level 0-1-2):[ring-H-D].]. task information: [notify id:[0x0000000500000310], stage:[ffffffff], remote rank:[6]]. group information: [group:[10.8.0.4%enp_60000_0_1748307600], user rank:[{number}], rankSize[16]]
                    Possible Cause: 1. An exception occurs during the execution on some NPUs in the cluster. As a result, collective communication operation failed. 2. The execution speed on some NPU in the cluster is too slow to complete a communication operation within the timeout interval. (default 1800s, You can set the interval by using HCCL_EXEC_TIMEOUT.) 3. The number of training samples of each NPU is inconsistent. 4. Packet loss or other connectivity problems occur on the communication link.
                    Solution: 1. If this error is reported on part of these ranks, check other ranks to see whether other errors have been reported earlier. 2. If this error is reported for all ranks, check whether the error reporting time is consistent (the maximum difference must not exceed 1800s).
                    TraceBack (most recent call last):
                    Notify wait execute failed, device_id={number % 8}, stream_id=41, task_id=7, flip_num=2, notify_id=784, retCode=0x91[FUNC:PrintErrorInfo][FILE:task_info.cc][LINE:1409]
                    rtEventSynchronize execute failed, reason=[the model stream execute failed][FUNC:FuncErrorReason][FILE:error_message_manage.cc][LINE:53]
            """,
            ),
            _err(tape, 2200 + number, number % 8, "ERR02200", "DIST call hccl api failed.", number),
        )
    _ended(tape, [Exit(3, 1, 2203), Exit(1, -15, 2201)], (2200, 2202, 2204))
    return log(
        tape,
        "notify_never_recorded",
        "collective",
        1,
        _BASIS,
        command="bash pretrain_qwen25_72b_ptd.sh",
        why="rank 6 is awaited; its own log is not here",
        torch_npu="2.1.0.post11",
        cann="8.1.RC1",
    )


def _vector_core_exception() -> ComposedLog:
    tape = Tape(9403, "2025-07-02 14:14:00")
    tape.say(
        "[INFO|trainer.py:2414] 2025-07-02 14:14:31,108 >> ***** Running training *****\n[INFO|trainer.py:2415] 2025-07-02 14:14:31,108 >>   Num examples = 9,120\n[INFO|trainer.py:2416] 2025-07-02 14:14:31,108 >>   Num Epochs = 3",
        steps(
            tape,
            "{{'loss': {loss:.4f}, 'grad_norm': {norm:.4f}, 'learning_rate': {lr:.3e}, 'epoch': 0.{step:03d}}}",
            range(10, 241, 10),
            seconds=21,
        ),
        _trace(
            """
            /opt/LLaMA-Factory/src/llamafactory/launcher.py:23 <module> | launch()
            /opt/LLaMA-Factory/src/llamafactory/train/sft/workflow.py:102 run_sft | train_result = trainer.train(resume_from_checkpoint=training_args.resume_from_checkpoint)
            @transformers/trainer.py:2560 _inner_training_loop | tr_loss_step = self.training_step(model, inputs, num_items_in_batch)
            @transformers/trainer.py:3736 training_step | loss = self.compute_loss(model, inputs, num_items_in_batch=num_items_in_batch)
            @transformers/loss/loss_utils.py:38 ForCausalLMLoss | loss = fixed_cross_entropy(logits, shift_labels, num_items_in_batch, ignore_index, **kwargs)
            """,
            "RuntimeError: operator():build/CMakeFiles/torch_npu.dir/compiler_depend.ts:25 NPU function error: c10_npu::acl::AclrtSynchronizeStreamWithTimeout(copy_stream), error code is 507035",
        ),
        _err(tape, 30511, 2, "ERR00100", "PTA call acl api failed"),
        "[Error]: The vector core execution is abnormal.\n        Rectify the fault based on the error information in the ascend log.",
        f"EZ9999: Inner Error!\nEZ9999: [PID: 30511] {tape.when('%Y-%m-%d-%H:%M:%S')}.733.110 The error from device(chipId:2, dieId:0), serial number is 4, there is an exception of fftsplus aivector error, core id is 17, error code = 0x10000000000000, dump info: pc start: 0x124040020a1c, current: 0x12404002177c, vec error info: 0x7b1a6e1f30, mte error info: 0xff03000121, ifu error info: 0x2000000005b80, ccu error info: 0x4d2e8a7d00000014, cube error info: 0, biu error info: 0, aic error mask: 0x6500020bd00028c, para base: 0x1241c0a3a400.[FUNC:ProcessStarsCoreErrorInfo][FILE:device_error_proc.cc][LINE:1410]\n        TraceBack (most recent call last):\n       The extend info: errcode:(0x10000000000000, 0, 0) errorStr: The DDR address of the MTE instruction is out of range. fixp_error0 info: 0x3000121, fixp_error1 info: 0xff, fsmId:0, tslot:0, thread:0, ctxid:0, blk:11, sublk:0, subErrType:4.[FUNC:ProcessStarsCoreErrorInfo][FILE:device_error_proc.cc][LINE:1422]\n       Kernel task happen error, retCode=0x31, [vector core exception].[FUNC:PreCheckTaskErr][FILE:davinic_kernel_task.cc][LINE:1366]\n       Aicore kernel execute failed, device_id=2, stream_id=2, report_stream_id=2, task_id=40121, flip_num=3, fault kernel_name=GatherElementsV2_1e0c0a2e_high_performance, fault kernel info ext=none, program id=44, hash=1180231, argsSize=112.[FUNC:GetError][FILE:stream.cc][LINE:1183]\n       rtStreamSynchronizeWithTimeout execute failed, reason=[vector core exception][FUNC:FuncErrorReason][FILE:error_message_manage.cc][LINE:53]\n       synchronize stream with timeout failed, runtime result = 507035[FUNC:ReportCallError][FILE:log_inner.cpp][LINE:161]",
        "[W compiler_depend.ts:465] Warning: NPU warning, error code is 507035[Error]: \n[Error]: The vector core execution is abnormal.\n        Rectify the fault based on the error information in the ascend log.\n (function npuSynchronizeUsedDevices)",
        "  5%|▍         | 241/5130 [08:29<2:52:10,  2.11s/it]",
    )
    return log(
        tape,
        "vector_core_exception",
        "cuda_runtime",
        1,
        _BASIS,
        command="ASCEND_RT_VISIBLE_DEVICES=2 llamafactory-cli train sft.yaml",
        why="a kernel read outside its buffer: the accelerator's form of an illegal access",
        torch_npu="2.5.1",
        cann="8.1.RC1",
    )


def _toolkit_not_sourced() -> ComposedLog:
    tape = Tape(9404, "2025-04-09 09:09:00")
    tape.say(
        "+ npu-smi info",
        "+------------------------------------------------------------------------------------------------+\n| npu-smi 24.1.0                   Version: 24.1.0                                               |\n+---------------------------+---------------+----------------------------------------------------+\n| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|\n| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |\n+===========================+===============+====================================================+",
        *(
            f"| {at}     910B3               | OK            | {91 + at}.{at}        {34 + at % 3}                0    / 0             |\n| 0                         | 0000:{0xC1 - at:X}:00.0  | 0           0    / 0          3403 / 65536         |\n+===========================+===============+====================================================+"
            for at in range(8)
        ),
        "+ conda activate npu && bash scripts/run_sft.sh",
        "INFO: starting 8 processes, log_dir=logs/sft",
        _trace(
            """
            /home/ma-user/sft/train.py:6 <module> | import torch_npu
            @torch_npu/__init__.py:16 <module> | import torch_npu.npu
            @torch_npu/npu/__init__.py:137 <module> | import torch_npu._C
            """,
            "ImportError: libhccl.so: cannot open shared object file: No such file or directory. Please check that the cann package is installed. Please run 'source set_env.sh' in the CANN installation path.",
        ),
        "[2025-04-09 09:09:32,114] torch.distributed.elastic.multiprocessing.api: [ERROR] failed (exitcode: 1) local_rank: 0 (pid: 771) of binary: /home/ma-user/anaconda3/envs/npu/bin/python",
    )
    _ended(
        tape,
        [Exit(0, 1, 771), Exit(1, 1, 772), Exit(2, 1, 773), Exit(3, 1, 774)],
        (),
        "ascend-login",
        "/home/ma-user/sft/train.py",
    )
    return log(
        tape,
        "toolkit_not_sourced",
        "cuda_environment",
        1,
        _BASIS,
        command="bash launch.sh",
        paper_class="missing_module",
        why="the accelerator's own libraries are not found",
        torch_npu="2.1.0.post8",
    )


def _socket_of_the_peer() -> ComposedLog:
    tape = Tape(9405, "2025-06-30 16:40:00")
    _banner(tape)
    tape.say(
        "> compiling dataset index builder ...",
        "make: Nothing to be done for 'default'.",
        ">>> done with dataset index builder. Compilation time: 0.061 seconds",
    )
    tape.wait(120)
    tape.say(
        mixed(
            tape,
            *(
                _trace(
                    """
                    pretrain_gpt.py:121 <module> | main()
                    mindspeed_llm/training/initialize.py:88 initialize_megatron | finish_mpu_init()
                    mindspeed_llm/training/initialize.py:301 _compile_dependencies | torch.distributed.barrier()
                    @torch/distributed/distributed_c10d.py:3696 barrier | work = default_pg.barrier(opts=opts)
                    """,
                    f"RuntimeError: create:build/CMakeFiles/torch_npu.dir/compiler_depend.ts:85 HCCL function error: HcclCommInitRootInfoConfig(numRanks, &rootInfo, rank, config, &(comm->hcclComm_)), error code is 4\n{_err(tape, 4400 + number, number % 8, 'ERR02200', 'DIST call hccl api failed.', number)}\nEI0006: [PID: {4400 + number}] {tape.when('%Y-%m-%d-%H:%M:%S')}.871.221 Getting socket times out. Reason: 1. The remote does not initiate a connect request. some NPUs in the cluster are abnormal.    2. The remote does not initiate a connect request because the collective communication operator is started too late or is not started by some NPU in the cluster.    3. The communication link is disconnected. (For example, the IP addresses are not on the same network segment or the TLS configurations are inconsistent.)\n        Possible Cause: 1. The network between two nodes is disconnected.\n        Solution: 1. Check the rank service processes with other errors or no errors in the cluster.2. If this error is reported for all NPUs, check whether the time difference between the earliest and latest errors is greater than the connect timeout interval (120s by default). If so, adjust the timeout interval by using the HCCL_CONNECT_TIMEOUT environment variable.3. Check the connectivity of the communication link between nodes. (For details, see the TLS command and HCCN connectivity check examples.)\n        TraceBack (most recent call last):\n        Transport init error. Reason: [Create][DestLink]Create Dest error! createLink para:rank[{number}]-localUserrank[{number}]-localIpAddr[10.8.1.{number}/{number % 8}], dst_rank[0]-remoteUserrank[0]-remote_ip_addr[10.8.0.4/0]",
                    number,
                )
                for number in (8, 9)
            ),
        ),
        "+ hccn_tool -i 0 -ping -g address 10.8.0.4",
        "device 0 PING 10.8.0.4\nrecv seq=0,time=timeout\nrecv seq=1,time=timeout\nrecv seq=2,time=timeout\n3 packets transmitted, 0 received, 100.00% packet loss",
    )
    _ended(
        tape,
        [Exit(8, 1, 4408, local=0), Exit(9, 1, 4409, local=1)],
        (4410, 4411),
        "modelarts-job-1",
    )
    return log(
        tape,
        "socket_of_the_peer",
        "collective",
        1,
        _BASIS,
        command="bash pretrain_2nodes.sh",
        paper_class="nccl",
        why="the store had formed; the communicator's own connections failed (the interface of the cards does not reach the peer)",
        torch_npu="2.1.0.post12",
        cann="8.1.RC1",
    )


def _operator_does_not_compile() -> ComposedLog:
    tape = Tape(9406, "2025-02-20 20:20:00")
    tape.say(
        f"{tape.milli()} - mmengine - INFO - Epoch(train) [1][  50/1832]  lr: 1.9820e-03  eta: 5:41:10  time: 0.4410  data_time: 0.0133  memory: 9312  loss: 1.9922  loss_cls: 1.1310  loss_bbox: 0.8612",
        steps(
            tape,
            "{milli} - mmengine - INFO - Epoch(train) [1][{step:>4}/1832]  lr: 1.9940e-02  time: {time:.4f}  data_time: 0.0121  memory: 9312  loss: {loss:.4f}",
            range(100, 1001, 50),
            seconds=22,
        ),
        _trace(
            """
            tools/train.py:121 <module> | main()
            @mmengine/runner/runner.py:1777 train | model = self.train_loop.run()
            mmdet/models/dense_heads/atss_head.py:188 loss_by_feat_single | loss_bbox = self.loss_bbox(pos_decode_bbox_pred, pos_decode_bbox_targets, weight=centerness_targets)
            """,
            f'RuntimeError: The Inner error is reported as above. The process exits for this inner error, and the current working operator name is NonZero.\nSince the operator is called asynchronously, the stacktrace may be inaccurate. If you want to get the accurate stacktrace, please set the environment variable ASCEND_LAUNCH_BLOCKING=1.\nNote: ASCEND_LAUNCH_BLOCKING=1 will force ops to run in synchronous mode, resulting in performance degradation. Please unset ASCEND_LAUNCH_BLOCKING in time after debugging.\n{_err(tape, 6611, 0, "ERR00100", "PTA call acl api failed.")}\nE40021: [PID: 6611] {tape.when("%Y-%m-%d-%H:%M:%S")}.120.771 Failed to compile Op [NonZero1]. (oppath: [Compile /usr/local/Ascend/ascend-toolkit/8.0.0/opp/built-in/op_impl/ai_core/tbe/impl/non_zero.py failed with errormsg/stack: File "/usr/local/Ascend/ascend-toolkit/8.0.0/python/site-packages/tbe/tvm/contrib/ccec.py", line 1018, in _build_aicore_compile_cmd\n, RuntimeError: ccec compile failed, command: ccec -c -O2 /tmp/kernel_meta_6611/te_nonzero.cce --cce-aicore-arch=dav-c220-vec: error: ran out of registers during register allocation\n], optype: [NonZero])\n        Solution: See the host log for details, and then check the Python stack where the error log is reported.\n        TraceBack (most recent call last):\n        Compile op[NonZero1] failed, oppath[/usr/local/Ascend/ascend-toolkit/8.0.0/opp/built-in/op_impl/ai_core/tbe/impl/non_zero.py], optype[NonZero], taskID[88]. Please check op\'s compilation error message.[FUNC:ReportBuildErrMessage][FILE:fusion_manager.cc][LINE:371]\n        build graph failed, graph id:86, ret:1343266818[FUNC:BuildModelWithGraphId][FILE:ge_generator.cc][LINE:1618]\n        [Build][Op]Fail to build op model[FUNC:ReportInnerError][FILE:log_inner.cpp][LINE:145]\n        [Compile][Op] failed',
            root="/home/ma-user/mmdetection",
        ),
    )
    return log(
        tape,
        "operator_does_not_compile",
        "compile_error",
        1,
        _BASIS,
        command="python tools/train.py configs/atss_r50.py",
        paper_class="runtime_error",
        cann="8.0.0",
    )


def _double_bit_error() -> ComposedLog:
    tape = Tape(9407, "2025-09-05 05:05:00")
    _banner(tape)
    tape.say(
        steps(tape, _ITER, range(3300, 3331), seconds=11),
        _trace(
            """
            pretrain_gpt.py:121 <module> | main()
            mindspeed_llm/training/training.py:565 train_step | losses_reduced = forward_backward_func(
            megatron/core/pipeline_parallel/schedules.py:371 backward_step | custom_backward(output_tensor[0], output_tensor_grad[0])
            """,
            "RuntimeError: synchronize:build/CMakeFiles/torch_npu.dir/compiler_depend.ts:361 NPU function error: c10_npu::acl::AclrtSynchronizeStreamWithTimeout(stream()), error code is 507053",
            6,
        ),
        _err(tape, 9106, 6, "ERR00100", "PTA call acl api failed", 6),
        "[rank6]: [Error]: UCE error occurs on the device memory.\n[rank6]:         Rectify the fault based on the error information in the ascend log.",
        f"[rank6]: EE9999: Inner Error!\n[rank6]: EE9999: [PID: 9106] {tape.when('%Y-%m-%d-%H:%M:%S')}.310.771 HBM MULTI BIT ECC, Uncorrectable ECC, device_id=6, event_id=0x80e01801[FUNC:ProcessDeviceFault][FILE:device_error_proc.cc][LINE:1701]",
        "+ npu-smi info -t ecc -i 6",
        "\tNPU ID                         : 6\n\tChip Count                     : 1\n\n\tDDR Single Bit Error Count     : 0\n\tHBM Single Bit Error Count     : 14\n\tHBM Double Bit Error Count     : 2\n\tHBM Single Bit Aggregate Total Err Cnt : 118\n\tHBM Multi Bit Isolated Pages Count : 3\n\tChip ID                        : 0",
    )
    tape.wait(1830)
    tape.say(
        *(
            f"[rank{n}]: EI0002: [PID: {9100 + n}] {tape.when('%Y-%m-%d-%H:%M:%S')}.104.771 The wait execution of the Notify register times out. Reason: The Notify register has not received the Notify record from remote rank [6]."
            for n in (1, 4)
        )
    )
    _ended(
        tape, [Exit(6, 1, 9106), Exit(1, 1, 9101), Exit(4, 1, 9104)], (9100, 9102, 9103, 9105, 9107)
    )
    return log(
        tape,
        "double_bit_error",
        "gpu_hardware",
        1,
        _BASIS,
        command="bash pretrain_llama3_70b_ptd.sh",
        paper_class="runtime_error",
        why="the texts are not those of CUDA, so that the exception decides the paper's class",
        cann="8.2.RC1",
    )


def _heads_of_the_group() -> ComposedLog:
    tape = Tape(9408, "2025-08-01 12:12:00")
    _banner(tape)
    tape.say(
        *(
            f"  {name} {'.' * (44 - len(name))} {value}"
            for name, value in {
                "context_parallel_algo": "ulysses_cp_algo",
                "context_parallel_size": 8,
                "error_injection_rate": 0,
                "group_query_attention": True,
                "kv_head_repeat_before_uly_alltoall": False,
                "num_attention_heads": 28,
                "num_query_groups": 4,
                "reuse_fp32_param": True,
                "tensor_model_parallel_size": 1,
                "use_fused_rmsnorm": True,
            }.items()
        ),
        mixed(
            tape,
            *(
                _trace(
                    """
            pretrain_gpt.py:121 <module> | main()
            mindspeed_llm/training/arguments.py:1288 validate_args_decorator | validate_cp_args(args)
            mindspeed_llm/features_manager/context_parallel/ulysses_context_parallel.py:29 validate_args | assert args.num_attention_heads % (args.context_parallel_size * args.tensor_model_parallel_size) == 0, f"num_attention_heads must be divisible by context_parallel_size * tensor_model_parallel_size"
            """,
                    "AssertionError: num_attention_heads must be divisible by context_parallel_size * tensor_model_parallel_size",
                    n,
                )
                for n in (0, 7)
            ),
        ),
        *(_err(tape, 120 + n, -1, "ERR99999", "UNKNOWN application exception", n) for n in (0, 7)),
    )
    _ended(tape, [Exit(7, 1, 127), Exit(0, 1, 120)], (121, 122, 123, 124, 125, 126))
    return log(
        tape,
        "heads_of_the_group",
        "config",
        1,
        _BASIS,
        command="bash pretrain_qwen25_7b_cp8.sh",
        paper_class="assertion",
        torch_npu="2.1.0.post13",
    )


def _host_memory_of_the_loader() -> ComposedLog:
    tape = Tape(9409, "2025-01-22 21:00:00")
    tape.say(
        "[WARNING] DEVICE(7103,ffff9bb1f010,python):2025-01-22-21:00:10.114.008 [mindspore/ccsrc/transform/acl_ir/op_api_exec.cc:146] GetDispatch] Cannot find custom dispatch",
        "[INFO] 2025-01-22 21:00:31 [mindformers/core/callback/callback.py:560] print_output_info: { Epoch:[  1/  1], step:[   10/ 4000], loss: 6.811, per_step_time: 1204ms, lr: 1.2e-06, overflow cond: False, loss_scale: 65536.0, global_norm: [2.1], train_throughput_per_npu: 121.318T }",
        steps(
            tape,
            "[INFO] {when} [mindformers/core/callback/callback.py:560] print_output_info: {{ Epoch:[  1/  1], step:[ {step:>4}/ 4000], loss: {loss:.3f}, per_step_time: {time:.0f}ms, overflow cond: False, loss_scale: 65536.0, global_norm: [{norm:.3f}] }}",
            range(20, 421, 10),
            loss=6.5,
            floor=3.9,
            seconds=12,
        ),
        "[WARNING] MD(7103,fffe8b7ff1e0,python):2025-01-22-21:09:55.370.118 [mindspore/ccsrc/minddata/dataset/engine/datasetops/source/generator_op.cc:220] operator()] Bad performance attention, it takes more than 25 seconds to generator.__next__ new row, which might cause `GetNext` timeout problem when sink_mode=True.",
        _trace(
            """
            run_mindformer.py:268 <module> | main(config_)
            mindformers/trainer/base_trainer.py:953 training_process | model.train(config.runner_config.epochs, dataset, callbacks=callbacks)
            @mindspore/train/model.py:1087 train | self._train(epoch,
            @mindspore/dataset/engine/iterators.py:161 __next__ | data = self._get_next()
            """,
            "RuntimeError: Exception thrown from user defined Python function in dataset. \n\n------------------------------------------------------------------\n- Python Call Stack: \n------------------------------------------------------------------\nTraceback (most recent call last):\n  File \"/home/ma-user/mindformers/dataset/dataloader/packed.py\", line 118, in __getitem__\n    tokens = np.concatenate([self._cache[i] for i in self.packs[index]])\nnumpy.core._exceptions._ArrayMemoryError: Unable to allocate 1.91 GiB for an array with shape (512000000,) and data type int32\n\n------------------------------------------------------------------\n- Dataset Pipeline Error Message: \n------------------------------------------------------------------\n[ERROR] Execute user Python code failed, check 'Python Call Stack' above.\n\n------------------------------------------------------------------\n- C++ Call Stack: (For framework developers) \n------------------------------------------------------------------\nmindspore/ccsrc/minddata/dataset/engine/datasetops/source/generator_op.cc(260).\n",
            root="/home/ma-user",
        ),
        "[ERROR] PIPELINE(7103,ffff9bb1f010,python):2025-01-22-21:10:11.001.201 [mindspore/ccsrc/pipeline/jit/ps/init.cc:1102] ClearResAtexit] Hccl is still in use",
    )
    return log(
        tape,
        "host_memory_of_the_loader",
        "host_oom",
        1,
        _BASIS,
        command="python run_mindformer.py --config pretrain.yaml",
        mindspore="2.4.1",
    )


def _timeout_set_aside() -> ComposedLog:
    tape = Tape(9410, "2025-10-12 02:00:00")
    _banner(tape)
    tape.say(
        "[rank0]:[W1012 02:00:41.819535026 compiler_depend.ts:877] Warning: The HCCL execution timeout was set to never timeout, so it is bigger than watchdog timeout 1800000ms which is set by init_process_group! The plog may not be recorded. You can disable watchdog by 'export HCCL_ASYNC_ERROR_HANDLING=0'. (function ProcessGroupHCCL)",
        "[W compiler_depend.ts:51] Warning: CAUTION: The operator 'aten::_unique2' is not currently supported on the NPU backend and will fall back to run on the CPU. This may have performance implications. (function npu_cpu_fallback)",
        steps(tape, _ITER, range(4962, 5001), seconds=11),
        "(min, max) time across ranks (ms):\n    save-checkpoint ................................: (41022.11, 41022.60)",
        "  successfully saved checkpoint from iteration    5000 to ./ckpt/qwen25 [ t 1/8, p 1/1 ]",
        "[after training is done] datetime: 2025-10-12 02:08:12 ",
        "sys:1: ResourceWarning: unclosed file <_io.TextIOWrapper name='/dev/null' mode='w' encoding='UTF-8'>",
        "/usr/local/python3.10.13/lib/python3.10/tempfile.py:869: ResourceWarning: Implicitly cleaning up <TemporaryDirectory '/tmp/tmpx6m1ad3v'>",
    )
    return log(
        tape,
        "timeout_set_aside",
        "none",
        0,
        _BASIS,
        command="bash pretrain_qwen25_7b_ptd.sh",
        torch_npu="2.6.0",
        cann="8.2.RC1",
    )
