"""Tests of Prefect's standards for a collection: entry point, cheap import, blocks."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import prefect_gpualert
import pytest
from prefect.blocks.core import Block
from prefect.testing.standard_test_suites.blocks import BlockStandardTestSuite
from prefect_gpualert import ChatChannel, MailChannel, TrainingOperation

from tests.faults.prefect import deployment

BLOCKS: list[type[Block]] = [ChatChannel, MailChannel, TrainingOperation]
MOST_MODULES = 20
"""Modules beyond those of a bare interpreter that reads entry points."""

LOAD = """
import json, sys
from importlib.metadata import entry_points
(found,) = entry_points(group="prefect.collections", name="prefect_gpualert")
before = set(sys.modules)
module = found.load()
print(json.dumps([module.__name__, sorted(set(sys.modules) - before)]))
"""


@pytest.mark.parametrize("block", BLOCKS, scope="class")
class TestBlockStandards(BlockStandardTestSuite):
    """Prefect's own tests of a collection's blocks."""

    @pytest.fixture
    def block(self, request: pytest.FixtureRequest) -> type[Block]:
        """The block under test; the parametrization above replaces it."""
        raise AssertionError

    def test_has_a_valid_image(self, block: type[Block]) -> None:
        """The logo is one of Prefect's own at a fixed commit; its size is not checked here."""
        logo = block._logo_url
        assert logo is not None
        assert str(logo).startswith("https://raw.githubusercontent.com/PrefectHQ/prefect/420d0d6a")
        assert str(logo).endswith(".png")


def test_every_block_is_tested() -> None:
    """No block of the package is left out."""
    ours = {name: getattr(prefect_gpualert, name) for name in prefect_gpualert.__all__}
    assert [one for one in ours.values() if Block.is_block_class(one)] == BLOCKS


def test_entry_point_is_cheap() -> None:
    """The import in servers and workers is small, without Prefect and the core's packages."""
    done = subprocess.run([sys.executable, "-c", LOAD], capture_output=True, check=True)
    name, loaded = json.loads(done.stdout)
    assert name == "prefect_gpualert"
    assert len(loaded) <= MOST_MODULES, loaded
    heavy = ("prefect.", "pydantic", "gpualert_common.api", "gpualert_common.guardian", "re2")
    assert not [module for module in loaded if module.startswith(heavy)]


def test_public_names() -> None:
    """Each public name can be imported and is listed; other names raise AttributeError."""
    assert set(prefect_gpualert.__all__) <= set(dir(prefect_gpualert))
    for name in prefect_gpualert.__all__:
        assert getattr(prefect_gpualert, name)
    with pytest.raises(AttributeError, match="no_such_name"):
        prefect_gpualert.no_such_name  # noqa: B018 - looked up for its error


def test_blocks_are_registered(tmp_path: Path) -> None:
    """``prefect block register`` finds all blocks and registers them at the server."""
    with deployment.server(tmp_path) as (url, _process):
        environment = deployment.environment(tmp_path, PREFECT_API_URL=url)

        def prefect(*arguments: str) -> str:
            command = [deployment.PREFECT, "block", *arguments]
            done = subprocess.run(command, env=environment, capture_output=True, text=True)
            assert done.returncode == 0, done.stdout + done.stderr
            return done.stdout

        listed = prefect("register", "-m", "prefect_gpualert")
        assert [one for one in BLOCKS if one.get_block_type_name() not in listed] == []
        listed = prefect("type", "ls")
        assert [one for one in BLOCKS if one.get_block_type_slug() not in listed] == []
