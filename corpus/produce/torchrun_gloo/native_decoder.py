# /// case
# cause = "segfault"
# exit_code = 1
# command = "torchrun --standalone --nproc-per-node 2 {program}"
# ///
"""A native decoder called through ctypes crashes on one rank."""

import ctypes
import faulthandler

import torch
import torch.distributed as dist

faulthandler.enable()
libc = ctypes.CDLL(None)


def decode(frame_address, length):
    buffer = ctypes.create_string_buffer(length)
    libc.memcpy(buffer, ctypes.c_void_p(frame_address), ctypes.c_size_t(length))
    return torch.frombuffer(bytearray(buffer.raw), dtype=torch.uint8)


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    source = ctypes.create_string_buffer(bytes(range(200)))
    for step in range(60):
        address = ctypes.addressof(source) if (rank, step) != (1, 33) else 16
        frame = decode(address, 128)
        mean = frame.float().mean()
        dist.all_reduce(mean)
        if step % 10 == 0 and rank == 0:
            print(f"[{step:>3}/60] running mean {mean.item() / 2:.2f}", flush=True)
    dist.destroy_process_group()


main()
