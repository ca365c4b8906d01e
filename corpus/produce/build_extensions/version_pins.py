# /// case
# cause = "dependency"
# paper_class = "missing_module"
# exit_code = 1
# why = "an installed package does not have the version that the program requires"
# ///
"""The program checks the versions of its packages at the start and finds one that does not fit."""

import importlib.metadata

from packaging.requirements import Requirement

REQUIREMENTS = ["packaging>=22", "numpy>=1.26", "tqdm>=4.60", "pillow<10", "pyyaml"]


def check(requirement):
    wanted = Requirement(requirement)
    found = importlib.metadata.version(wanted.name)
    if not wanted.specifier.contains(found):
        raise ImportError(
            f"{wanted} is required for a normal functioning of this module, but found {wanted.name}=={found}.\n"
            "Try: `pip install -U -r requirements.txt`"
        )
    print(f"  {wanted.name:<12} {found:<10} ok", flush=True)


print("checking requirements")
for requirement in REQUIREMENTS:
    check(requirement)
