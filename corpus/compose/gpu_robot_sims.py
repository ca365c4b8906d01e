"""Robots learn in simulation: Isaac Lab with RSL-RL and skrl, MuJoCo MJX with Brax."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import dedent

from corpus.compose._cluster_blocks import log
from corpus.compose._gpu_tape import Tape, traceback
from corpus.compose._gpu_torch import cuda_error
from corpus.compose.composed_log import ComposedLog

_BASIS = "Isaac Lab 2.0-2.3 (train.py of RSL-RL, get_checkpoint_path, from_files.py; issues 931, 1460, 1999, 3792), Isaac Sim 4.5-5.1 Kit log format (omni.physx.plugin, carb.graphics-vulkan, carb.crashreporter-breakpad; IsaacSim issues 357, 431), RSL-RL 2.3-3.1 runner and actor-critic sources (issue 124), MuJoCo 3.2 MJX and Brax 0.12 on JAX 0.5, Gymnasium 1.0 registration"
_SITE = "/opt/conda/envs/isaaclab/lib/python3.11/site-packages"
_ROOT = "/workspace/isaaclab"


def logs() -> Iterator[ComposedLog]:
    """Walking robots and arms; simulators that complain a lot, also on good days."""
    yield _legs_of_inf()
    yield _contact_kernel()
    yield _graphics_in_container()
    yield _robot_file()
    yield _task_of_last_year()
    yield _run_to_resume()
    yield _crash_of_kit()
    yield _many_worlds()
    yield _patches_overflow()
    yield _height_scan_added()
    yield _stopped_at_the_desk()


def _kit(tape: Tape, level: str, plugin: str, text: str) -> str:
    tape.wait(0.07)
    begun = tape.at.timestamp() % 86400
    return f"{tape.when('%Y-%m-%dT%H:%M:%SZ')} [{int(begun * 10) % 900_000:,}ms] [{level}] [{plugin}] {text}"


def _start(tape: Tape, task: str, *, envs: int = 4096, physics: bool = True) -> None:
    tape.say(
        "[INFO] Using python from: /opt/conda/envs/isaaclab/bin/python",
        "[INFO][AppLauncher]: Using device: cuda:0",
        f"[INFO][AppLauncher]: Loading experience file: {_ROOT}/apps/isaaclab.python.headless.kit",
        f"Loading user config located at: '{_SITE}/omni/data/Kit/Isaac-Sim/5.0/user.config.json'",
        f"[Info] [carb] Logging to file: {_SITE}/omni/logs/Kit/Isaac-Sim/5.0/kit_{tape.when('%Y%m%d_%H%M%S')}.log",
        _kit(
            tape,
            "Warning",
            "omni.usd_config.extension",
            "Enable omni.materialx.libs extension to use MaterialX",
        ),
        _kit(
            tape,
            "Warning",
            "omni.fabric.plugin",
            "gFabricState->gUSDStageId is not valid, no active stage",
        ),
    )
    if not physics:
        return
    tape.wait(14)
    tape.say(
        f"[INFO]: Parsing configuration from: {task.replace('-', '_').lower()}_env_cfg",
        "Setting seed: 42",
        f"[INFO][IsaacLab]: Logging experiment in directory: {_ROOT}/logs/rsl_rl/{task.split('-')[-2].lower()}",
        "[INFO]: Base environment:",
        "\tEnvironment device    : cuda:0",
        "\tEnvironment seed      : 42",
        "\tPhysics step-size     : 0.005",
        "\tRendering step-size   : 0.02",
        "\tEnvironment step-size : 0.02",
        _kit(
            tape,
            "Warning",
            "omni.physx.plugin",
            "The rigid body at /World/envs/env_0/Robot/base has a possibly invalid inertia tensor of {1.0, 1.0, 1.0} and a negative mass, small sphere approximated inertia was used.",
        ),
        "[INFO]: Time taken for scene creation : 5.871204 seconds",
        f"[INFO]: Scene manager:  <class InteractiveScene>\n\tNumber of environments: {envs}\n\tEnvironment spacing   : 2.5\n\tSource prim name      : /World/envs/env_0",
        "[INFO]: Starting the simulation. This may take a few seconds. Please wait...",
        "[INFO]: Time taken for simulation start : 1.914118 seconds",
        "[INFO] Action Manager:  <ActionManager> contains 1 active terms.",
        "[INFO] Observation Manager: <ObservationManager> contains 1 groups.",
        "[INFO]: Completed setting up the environment...",
    )


def _iterations(
    tape: Tape, numbers: Sequence[int], total: int, *, envs: int = 4096, lost: int = 10**9
) -> None:
    for at in numbers:
        tape.wait(1.3)
        bad = at >= lost
        reward = 24 * at / (at + total / 4) - 1
        tape.say(
            "#" * 80,
            f"                       \033[1m Learning iteration {at}/{total} \033[0m                      ",
            "",
            f"                       Computation: {int(tape.near(72_000, 0.05))} steps/s (collection: {tape.near(1.12, 0.05):.3f}s, learning {tape.near(0.142, 0.05):.3f}s)",
            f"             Mean action noise std: {tape.near(0.62, 0.05):.2f}",
            f"          Mean value_function loss: {'inf' if bad else f'{tape.near(0.021, 0.4):.4f}'}",
            f"               Mean surrogate loss: {'nan' if bad else f'{-tape.near(0.006, 0.4):.4f}'}",
            f"                 Mean entropy loss: {tape.near(11.2, 0.03):.4f}",
            f"                       Mean reward: {tape.near(reward, 0.04):.2f}",
            f"               Mean episode length: {min(1000.0, tape.near(960, 0.04)):.2f}",
            f"Episode_Reward/track_lin_vel_xy_exp: {tape.near(0.81, 0.05):.4f}",
            f"    Episode_Termination/base_contact: {tape.near(1.9, 0.4):.4f}",
            "-" * 80,
            f"                   Total timesteps: {at * envs * 24}",
            f"                    Iteration time: {tape.near(1.27, 0.04):.2f}s",
            f"                      Time elapsed: {at * 1.27 // 3600:02.0f}:{at * 1.27 // 60 % 60:02.0f}:{at * 1.27 % 60:02.0f}",
            f"                               ETA: {(total - at) * 1.27 // 3600:02.0f}:{(total - at) * 1.27 // 60 % 60:02.0f}:{(total - at) * 1.27 % 60:02.0f}",
            "",
        )


_LEARN = """
scripts/reinforcement_learning/rsl_rl/train.py:235 main | runner.learn(num_learning_iterations=agent_cfg.max_iterations, init_at_random_ep_len=True)
"""
_HEAD = "Error executing job with overrides: []\n"
_HYDRA = "\n\nSet the environment variable HYDRA_FULL_ERROR=1 for a complete stack trace."


def _legs_of_inf() -> ComposedLog:
    tape = Tape(11301, "2025-06-11 01:00:00")
    _start(tape, "Isaac-Velocity-Rough-Unitree-Go2-v0")
    _iterations(tape, range(5218, 5226), 10000, lost=5225)
    tape.say(
        _HEAD
        + traceback(
            _LEARN
            + dedent("""
            @rsl_rl/runners/on_policy_runner.py:206 learn | actions = self.alg.act(obs, privileged_obs)
            @rsl_rl/algorithms/ppo.py:133 act | self.transition.actions = self.policy.act(obs).detach()
            @rsl_rl/modules/actor_critic.py:131 update_distribution | self.distribution = Normal(mean, std)
            @torch/distributions/distribution.py:71 __init__ | raise ValueError(
            """),
            "ValueError: Expected parameter loc (Tensor of shape (4096, 12)) of distribution Normal(loc: torch.Size([4096, 12]), scale: torch.Size([4096, 12])) to satisfy the constraint Real(), but found invalid values:\ntensor([[nan, nan, nan,  ..., nan, nan, nan],\n        [nan, nan, nan,  ..., nan, nan, nan],\n        ...,\n        [nan, nan, nan,  ..., nan, nan, nan]], device='cuda:0')",
            root=_ROOT,
            site=_SITE,
        )
        + _HYDRA
    )
    return log(
        tape,
        "legs_of_inf",
        "nan_loss",
        1,
        _BASIS,
        command="./isaaclab.sh -p scripts/reinforcement_learning/rsl_rl/train.py --task Isaac-Velocity-Rough-Unitree-Go2-v0 --headless",
        isaaclab="2.2.0",
        rsl_rl="2.3.3",
    )


def _contact_kernel() -> ComposedLog:
    tape = Tape(11302, "2025-08-20 16:12:00")
    _start(tape, "Isaac-Lift-Cube-Franka-v0", envs=8192)
    _iterations(tape, range(4), 1500, envs=8192)
    physx = "omni.physx.plugin"
    lost = "Cuda context manager error, simulation will be stopped and new cuda context manager will be created."
    tape.say(
        _kit(
            tape,
            "Error",
            physx,
            "PhysX error: Synchronizing GPU Narrowphase failed! 700\n, FILE /builds/omniverse/physics/physx/source/gpunarrowphase/src/PxgNarrowphaseCore.cpp, LINE 1259",
        ),
        _kit(tape, "Error", physx, lost),
        _kit(
            tape,
            "Error",
            physx,
            "PhysX error: SynchronizeStreams cuEventRecord failed with error 700\n, FILE /builds/omniverse/physics/physx/source/gpucommon/include/PxgCudaUtils.h, LINE 57",
        ),
        _kit(tape, "Error", physx, lost),
        _kit(
            tape,
            "Error",
            physx,
            "PhysX error: memcpy failed fail!\n  700, FILE /builds/omniverse/physics/physx/source/gpunarrowphase/src/PxgNphaseImplementationContext.cpp, LINE 828",
        ),
        _kit(
            tape,
            "Error",
            "omni.physx.tensors.plugin",
            "CUDA error: an illegal memory access was encountered: ../../../extensions/runtime/source/omni.physx.tensors/plugins/gpu/GpuSimulationView.cpp: 793",
        ),
        _HEAD
        + traceback(
            _LEARN
            + dedent("""
            @rsl_rl/runners/on_policy_runner.py:208 learn | obs, rewards, dones, infos = self.env.step(actions.to(self.env.device))
            source/isaaclab_rl/isaaclab_rl/rsl_rl/vecenv_wrapper.py:189 step | obs_dict, rew, terminated, truncated, extras = self.env.step(actions)
            source/isaaclab/isaaclab/envs/manager_based_rl_env.py:204 step | reset_env_ids = self.reset_buf.nonzero(as_tuple=False).squeeze(-1)
            """),
            cuda_error("2.7", "an illegal memory access was encountered").rstrip("\n"),
            root=_ROOT,
            site=_SITE,
        )
        + _HYDRA,
    )
    return log(
        tape,
        "contact_kernel",
        "cuda_runtime",
        1,
        _BASIS,
        command="./isaaclab.sh -p scripts/reinforcement_learning/rsl_rl/train.py --task Isaac-Lift-Cube-Franka-v0 --num_envs 8192 --headless",
        isaacsim="5.0.0",
        torch="2.7.0",
    )


def _graphics_in_container() -> ComposedLog:
    tape = Tape(11303, "2025-12-01 09:00:00")
    _start(tape, "Isaac-Ant-v0", physics=False)
    vulkan, found = "carb.graphics-vulkan.plugin", "gpu.foundation.plugin"
    for _ in range(2):
        tape.wait(0.9)
        tape.say(
            _kit(tape, "Error", vulkan, "VkResult: ERROR_INCOMPATIBLE_DRIVER"),
            _kit(
                tape,
                "Error",
                vulkan,
                "vkCreateInstance failed. Vulkan 1.1 is not supported, or your driver requires an update.",
            ),
            _kit(tape, "Error", found, "carb::graphics::createInstance failed."),
        )
    tape.say(
        _kit(
            tape,
            "Error",
            "omni.gpu_foundation_factory.plugin",
            "Failed to create any GPU devices, including an attempt with compatibility mode.",
        ),
        _kit(
            tape,
            "Warning",
            found,
            "CUDA driver version insufficient: CUDA driver 12.2, runtime 12.8",
        ),
        traceback(
            """
            scripts/reinforcement_learning/rsl_rl/train.py:36 <module> | app_launcher = AppLauncher(args_cli)
            source/isaaclab/isaaclab/app/app_launcher.py:121 __init__ | self._create_app()
            @isaacsim/exts/isaacsim.simulation_app/isaacsim/simulation_app/simulation_app.py:279 __init__ | self._wait_for_viewport()
            """,
            "RuntimeError: GPU Foundation is not initialized!",
            root=_ROOT,
            site=_SITE,
        ),
        "There was an error running python",
    )
    return log(
        tape,
        "graphics_in_container",
        "cuda_environment",
        1,
        _BASIS,
        command="docker run --gpus all isaac-lab ./isaaclab.sh -p scripts/reinforcement_learning/rsl_rl/train.py --task Isaac-Ant-v0 --headless",
        paper_class="runtime_error",
        isaacsim="5.1.0",
    )


def _robot_file() -> ComposedLog:
    tape = Tape(11304, "2025-04-29 13:13:00")
    _start(tape, "Spot-Door-v0", physics=False)
    tape.wait(11)
    tape.say(
        "[INFO]: Parsing configuration from: lab.tasks.spot_door.env_cfg:SpotDoorEnvCfg",
        "Setting seed: 7",
        _kit(
            tape,
            "Warning",
            "omni.client.plugin",
            " Tick: authentication: Discovery(ws://localhost/omni/discovery): Error creating Api/Connection search: Not connected",
        ),
        _HEAD
        + traceback(
            """
            scripts/reinforcement_learning/skrl/train.py:158 main | env = gym.make(args_cli.task, cfg=env_cfg, render_mode="rgb_array" if args_cli.video else None)
            @gymnasium/envs/registration.py:740 make | env = env_creator(**env_spec_kwargs)
            source/isaaclab/isaaclab/scene/interactive_scene.py:135 __init__ | self._add_entities_from_cfg()
            source/isaaclab/isaaclab/sim/spawners/from_files/from_files.py:270 _spawn_from_usd_file | raise FileNotFoundError(f"USD file not found at path: '{usd_path}'.")
            """,
            "FileNotFoundError: USD file not found at path: '/workspace/assets/spot/spot_arm.usd'.",
            root=_ROOT,
            site=_SITE,
        )
        + _HYDRA,
        "There was an error running python",
    )
    return log(
        tape,
        "robot_file",
        "file_not_found",
        1,
        _BASIS,
        command="./isaaclab.sh -p scripts/reinforcement_learning/skrl/train.py --task Spot-Door-v0 --headless",
        isaaclab="2.1.0",
    )


def _task_of_last_year() -> ComposedLog:
    tape = Tape(11305, "2025-03-03 18:00:00")
    _start(tape, "Isaac-Velocity-Flat-H1-v1", physics=False)
    tape.wait(9)
    tape.say(
        traceback(
            """
            scripts/reinforcement_learning/rsl_rl/train.py:152 <module> | main()
            source/isaaclab_tasks/isaaclab_tasks/utils/hydra.py:83 wrapper | env_cfg, agent_cfg = register_task_to_hydra(task_name.split(":")[-1], agent_cfg_entry_point)
            source/isaaclab_tasks/isaaclab_tasks/utils/parse_cfg.py:57 load_cfg_from_registry | cfg_entry_point = gym.spec(task_name.split(":")[-1]).kwargs.get(entry_point_key)
            @gymnasium/envs/registration.py:392 _check_version_exists | raise error.VersionNotFound(message)
            """,
            "gymnasium.error.VersionNotFound: Environment version `v1` for environment `Isaac-Velocity-Flat-H1` doesn't exist. It provides versioned environments: [ `v0` ].",
            root=_ROOT,
            site=_SITE,
        ),
        "There was an error running python",
    )
    return log(
        tape,
        "task_of_last_year",
        "config",
        1,
        _BASIS,
        command="./isaaclab.sh -p scripts/reinforcement_learning/rsl_rl/train.py --task Isaac-Velocity-Flat-H1-v1 --headless",
        paper_class="traceback",
        why="the name of the task in the arguments has a version that is not registered",
        isaaclab="2.0.2",
    )


def _run_to_resume() -> ComposedLog:
    tape = Tape(11306, "2025-10-10 07:41:00")
    _start(tape, "Isaac-Velocity-Flat-G1-v0")
    tape.say(
        _HEAD
        + traceback(
            """
            scripts/reinforcement_learning/rsl_rl/train.py:196 main | resume_path = get_checkpoint_path(log_root_path, agent_cfg.load_run, agent_cfg.load_checkpoint)
            source/isaaclab_tasks/isaaclab_tasks/utils/parse_cfg.py:213 get_checkpoint_path | raise ValueError(f"No checkpoints in the directory: '{run_path}' match '{checkpoint}'.")
            """,
            f"ValueError: No checkpoints in the directory: '{_ROOT}/logs/rsl_rl/g1_flat/2025-10-09_22-10-31' match 'model_15000.pt'.",
            root=_ROOT,
            site=_SITE,
        )
        + _HYDRA,
        "There was an error running python",
    )
    return log(
        tape,
        "run_to_resume",
        "checkpoint",
        1,
        _BASIS,
        command="./isaaclab.sh -p scripts/reinforcement_learning/rsl_rl/train.py --task Isaac-Velocity-Flat-G1-v0 --resume --checkpoint model_15000.pt --headless",
        paper_class="traceback",
        isaaclab="2.3.0",
    )


def _crash_of_kit() -> ComposedLog:
    tape = Tape(11307, "2025-07-10 12:30:00")
    _start(tape, "Isaac-Repose-Cube-Shadow-Direct-v0", envs=2048)
    _iterations(tape, range(3), 5000, envs=2048)
    plugin = "carb.crashreporter-breakpad.plugin"
    tape.say(
        _kit(
            tape,
            "Warning",
            plugin,
            "[crash] A crash has occurred.  If a debugger should be attached, please set the '/crashreporter/debuggerAttachTimeoutMs' setting to a timeout in milliseconds.  This can be used to allow the crash reporter to wait for up to that long for a debugger to attach before processing or sending the crash report.",
        ),
        _kit(tape, "Error", plugin, "'py-spy' exited with code 1"),
        _kit(
            tape,
            "Error",
            plugin,
            f"[crash] Wrote dump file '{_SITE}/omni/data/Kit/Isaac-Sim/5.0/8d0f22c1-60c1-4f7e-b0ab4481-0fe8d0a2.dmp'",
        ),
        *(
            _kit(tape, "Fatal", plugin, f"{at:03d}: {frame}")
            for at, frame in enumerate(
                (
                    "libc.so.6!__sigaction+0x50",
                    "libomni.physx.plugin.so!carbOnPluginPreStartup+0x2b1f4",
                    "libomni.physx.plugin.so!carbOnPluginPreStartup+0x4410a",
                    "_physx.cpython-311-x86_64-linux-gnu.so!PyInit__physx+0x1c0e2",
                    "libpython3.11.so.1.0!_PyEval_EvalFrameDefault+0x6cae",
                    "libpython3.11.so.1.0!PyRun_SimpleFileExFlags+0x1a2",
                )
            )
        ),
        f'{_ROOT}/isaaclab.sh: line 350: 20911 Segmentation fault      (core dumped) ${{python_exe}} "$@"',
    )
    return log(
        tape,
        "crash_of_kit",
        "segfault",
        139,
        _BASIS,
        command="./isaaclab.sh -p scripts/reinforcement_learning/rsl_rl/train.py --task Isaac-Repose-Cube-Shadow-Direct-v0 --headless",
        isaacsim="5.0.0",
    )


def _many_worlds() -> ComposedLog:
    tape = Tape(11308, "2025-05-06 11:11:00")
    site = "/opt/venv/lib/python3.12/site-packages"
    tape.say(
        "Experiment name: Go1JoystickRoughTerrain-20250506-111100",
        "Logs are being stored in: /data/logs/Go1JoystickRoughTerrain-20250506-111100",
        "No checkpoint path provided, not restoring from checkpoint",
        'Environment Config:\n{\n  "action_repeat": 1,\n  "ctrl_dt": 0.02,\n  "episode_length": 1000,\n  "sim_dt": 0.004\n}',
        "PPO Training Parameters:\nbatch_size: 256\nnum_envs: 65536\nnum_evals: 10\nnum_timesteps: 200000000\nunroll_length: 20",
        "/opt/venv/lib/python3.12/site-packages/jax/_src/interpreters/xla.py:132: RuntimeWarning: overflow encountered in cast\n  return np.asarray(x, dtypes.canonicalize_dtype(x.dtype))",
        "0: reward=-0.312",
        f"{tape.when()}.102914: E external/xla/xla/service/slow_operation_alarm.cc:73] \n********************************\n[Compiling module jit_training_epoch] Very slow compile? If you want to file a bug, run with envvar XLA_FLAGS=--xla_dump_to=/tmp/foo and attach the results.\n********************************",
        f"{tape.wait(210).when()}.551020: W external/xla/xla/service/hlo_rematerialization.cc:3005] Can't reduce memory use below 17.42GiB (18704619520 bytes) by rematerialization; only reduced to 51.07GiB (54836001844 bytes), down from 51.07GiB (54836001844 bytes) originally",
        f"{tape.wait(12).when()}.808417: W external/xla/xla/tsl/framework/bfc_allocator.cc:501] Allocator (GPU_0_bfc) ran out of memory trying to allocate 37.50GiB (rounded to 40265318400)requested by op ",
        f"{tape.when()}.811020: W external/xla/xla/tsl/framework/bfc_allocator.cc:512] *___________________________________________________________________________________________________",
        "E0506 11:14:42.811399  140221 pjrt_stream_executor_client.cc:3045] Execution of replica 0 failed: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 40265318400 bytes.",
        traceback(
            """
            learning/train_jax_ppo.py:377 main | make_inference_fn, params, _ = train_fn(
            @brax/training/agents/ppo/train.py:703 train | (training_state, env_state, training_metrics) = training_epoch_with_timing(
            @brax/training/agents/ppo/train.py:588 training_epoch_with_timing | result = training_epoch(training_state, env_state, key)
            """,
            "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 40265318400 bytes.\n--------------------\nFor simplicity, JAX has removed its internal frames from the traceback of the following exception. Set JAX_TRACEBACK_FILTERING=off to include these.",
            root="/workspace/mujoco_playground",
            site=site,
        ),
    )
    return log(
        tape,
        "many_worlds",
        "cuda_oom",
        1,
        _BASIS,
        command="python learning/train_jax_ppo.py --env_name Go1JoystickRoughTerrain --num_envs 65536",
        jax="0.5.3",
        brax="0.12.3",
    )


def _patches_overflow() -> ComposedLog:
    tape = Tape(11309, "2025-09-05 14:10:00")
    _start(tape, "Isaac-Velocity-Rough-H1-v0")
    for begin in range(0, 300, 60):
        _iterations(tape, range(begin, begin + 60, 30), 300)
        for _ in range(2):
            need = tape.rng.randrange(163_900, 179_000)
            tape.say(
                _kit(
                    tape,
                    "Error",
                    "omni.physx.plugin",
                    f"PhysX error: Patch buffer overflow detected, please increase its size to at least {need} in the scene desc!\n, FILE /builds/omniverse/physics/physx/source/gpunarrowphase/src/PxgNarrowphaseCore.cpp, LINE 1272",
                )
            )
    _iterations(tape, range(299, 300), 300)
    tape.say(
        _kit(
            tape,
            "Warning",
            "omni.fabric.plugin",
            "getAttributeCount called on non-existent path /World/envs/env_4095/Robot",
        ),
        _kit(
            tape,
            "Error",
            "carb.python",
            "Failed to release the interface, the plugin is already unloaded",
        ),
        "[INFO]: Simulation App Shutting Down",
    )
    return log(
        tape,
        "patches_overflow",
        "none",
        0,
        _BASIS,
        command="./isaaclab.sh -p scripts/reinforcement_learning/rsl_rl/train.py --task Isaac-Velocity-Rough-H1-v0 --max_iterations 300 --headless",
        why="the simulator drops contacts and says so; all iterations are done and rewards rise",
        isaaclab="2.2.1",
    )


def _height_scan_added() -> ComposedLog:
    tape = Tape(11310, "2025-11-13 10:20:00")
    _start(tape, "Isaac-Velocity-Rough-Anymal-D-v0")
    tape.say(
        "Actor MLP: MLP(\n  (0): Linear(in_features=48, out_features=512, bias=True)\n  (1): ELU(alpha=1.0)\n  (2): Linear(in_features=512, out_features=128, bias=True)\n  (3): ELU(alpha=1.0)\n  (4): Linear(in_features=128, out_features=12, bias=True)\n)",
        _HEAD
        + traceback(
            _LEARN
            + dedent("""
            @rsl_rl/runners/on_policy_runner.py:96 learn | actions = self.alg.act(obs)
            /workspace/gait/nets.py:52 act | mean = self.actor(torch.cat([obs["policy"], obs["scan"]], dim=-1))
            CALL 2.7
            @torch/nn/modules/container.py:240 forward | input = module(input)
            CALL 2.7
            @torch/nn/modules/linear.py:125 forward | return F.linear(input, self.weight, self.bias)
            """),
            "RuntimeError: mat1 and mat2 shapes cannot be multiplied (4096x235 and 48x512)",
            root=_ROOT,
            site=_SITE,
        )
        + _HYDRA,
    )
    return log(
        tape,
        "height_scan_added",
        "shape_mismatch",
        1,
        _BASIS,
        command="./isaaclab.sh -p scripts/reinforcement_learning/rsl_rl/train.py --task Isaac-Velocity-Rough-Anymal-D-v0 --headless",
        paper_class="runtime_error",
        isaaclab="2.3.0",
        rsl_rl="3.1.1",
    )


def _stopped_at_the_desk() -> ComposedLog:
    tape = Tape(11311, "2025-05-28 17:55:00")
    _start(tape, "Isaac-Cartpole-v0", envs=1024)
    _iterations(tape, range(60, 64), 150, envs=1024)
    tape.say(
        "^C"
        + traceback(
            _LEARN
            + dedent("""
            @rsl_rl/runners/on_policy_runner.py:208 learn | obs, rewards, dones, infos = self.env.step(actions.to(self.env.device))
            source/isaaclab/isaaclab/envs/manager_based_rl_env.py:187 step | self.sim.step(render=False)
            source/isaaclab/isaaclab/sim/simulation_context.py:533 step | super().step(render=render)
            """),
            "KeyboardInterrupt",
            root=_ROOT,
            site=_SITE,
        ),
        _kit(
            tape,
            "Warning",
            "carb",
            "[Plugin: omni.sensors.net.lidar.ext.plugin] Dependency: [carb::settings::ISettings v1.0] failed to be resolved.",
        ),
        "[INFO]: Simulation App Shutting Down",
    )
    return log(
        tape,
        "stopped_at_the_desk",
        "cancelled",
        130,
        _BASIS,
        command="./isaaclab.sh -p scripts/reinforcement_learning/rsl_rl/train.py --task Isaac-Cartpole-v0 --headless",
        isaaclab="2.1.0",
    )
