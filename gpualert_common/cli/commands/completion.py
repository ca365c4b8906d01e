"""Print the script that lets a shell complete the commands of gpualert."""

from __future__ import annotations

import argparse

from gpualert_common.cli import printing

SHELLS = ("bash", "zsh", "fish")
_PROGRAM = "gpualert"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the shell."""
    parser.description = (
        "Print the script that lets a shell complete commands, options, runs, causes and channels. "
        'Put this line into ~/.bashrc or ~/.zshrc: eval "$(gpualert completion bash)" (or zsh); '
        "into ~/.config/fish/config.fish: gpualert completion fish | source"
    )
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=", ".join(SHELLS))


def execute(options: argparse.Namespace) -> int:
    """Print the script."""
    from argcomplete.shell_integration import shellcode

    printing.print_bytes(shellcode([_PROGRAM], shell=options.shell).encode())
    return 0
