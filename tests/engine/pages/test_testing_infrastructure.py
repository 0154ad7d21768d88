"""The tests of docs/guides/testing-infrastructure.md pass, as a user would run them."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.client import engine
from support.client.pages.pages import DOCS, blocks, execute

pytestmark = pytest.mark.slow

PAGE = DOCS / "guides" / "testing-infrastructure.md"
TRAIN = "import sys\nprint('trained with', *sys.argv[1:], flush=True)\n"


@dataclass(frozen=True)
class Ran:
    """The outputs of pytest, and of the commands of the page."""

    pytest: engine.Result
    commands: dict[str, engine.Result]


@pytest.fixture(scope="module")
def ran(python: Path, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    folder = tmp_path_factory.mktemp("tested")
    (folder / "train.py").write_text(TRAIN)
    for block in blocks(PAGE):
        if block.file:
            with (folder / block.file).open("a") as file:
                file.write(block.text)
    variables = {**engine.environment(folder, folder / "emulator"), "PULUMI_PYTHON_CMD": str(python)}
    variables.pop("PULUMI_BACKEND_URL")
    shell = [line for block in blocks(PAGE) if block.language == "sh" for line in block.lines]
    return Ran(
        pytest=execute(f"{sys.executable} -m pytest -p no:cacheprovider --rootdir . -v", folder, variables),
        commands={command: execute(command, folder, variables) for command in shell},
    )


def test_the_tests_of_the_page_pass(ran: Ran) -> None:
    output = ran.pytest.ok().output
    assert "test_the_job_succeeds_and_runs_once PASSED" in output
    assert "2 passed" in output


def test_the_topology_is_checked(ran: Ran) -> None:
    ((command, result),) = ran.commands.items()
    assert "explain" in command
    assert json.loads(result.ok().output)["errors"] == []
