"""The tutorial, block by block, on the real Pulumi CLI and an emulator.

The first blocks, which install the package from nothing, are run by `tests/setup/test_template.py`. Here the
project is a copy of the same template, and Python that of the tests.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from pulumi_vertex_training.cli import parser
from support import mocked_program
from support.client import engine
from support.client.pages.pages import DOCS, Step, blocks, execute, follow
from support.tables import not_empty
from vertex_emulator.daemon import reset as emulator_reset

PAGE = DOCS / "get-started" / "tutorial.md"
TEMPLATE = DOCS.parent / "templates" / "vertex-training"
INSTALLATION = [
    "git clone URL-OF-THIS-REPOSITORY vertex-training",
    "mkdir states digits",
    "source vertex-training/activate",
    "unset VERTEX_TRAINING_DATA_DIR",
    'export PULUMI_BACKEND_URL="file://$PWD/states?metadata=skip"',
    "export PULUMI_CONFIG_PASSPHRASE=tutorial",
    "cd digits",
    "pulumi new ../vertex-training/templates/vertex-training --yes --stack local "
    "--config package=../vertex-training",
    "source venv/bin/activate",
]
"""The commands of the page that are not run here."""


def deployed(test: Callable[..., None]) -> Callable[..., None]:
    """Mark a test that runs the whole page: continuous integration does so for each commit.

    The programs and commands of the page have quicker tests here. The product's output is tested in
    tests/pulumi_vertex_training: cli/jobs/test_runs_compare.py, core/running/test_rerun_policies.py.
    """
    return pytest.mark.smoke(pytest.mark.slow(test))


@dataclass(frozen=True, kw_only=True)
class Project:
    """The folder of the tutorial, and the environment of its shell."""

    folder: Path
    variables: dict[str, str]


@pytest.fixture(scope="module")
def project(python: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    base = tmp_path_factory.mktemp("tutorial")
    folder, data = base / "digits", base / "emulator"
    try:
        yield Project(folder=folder, variables=_project(base, folder, data, python))
    finally:
        if data.exists():
            emulator_reset.stop_and_end_jobs(data)


@pytest.fixture(scope="module")
def steps(project: Project) -> list[Step]:
    """Write the files and run the commands, in the order of the page."""
    return follow(PAGE, project.folder, project.variables, runs=lambda command: command not in INSTALLATION)


def _project(base: Path, folder: Path, data: Path, python: Path) -> dict[str, str]:
    shutil.copytree(TEMPLATE, folder)
    project = yaml.safe_load((folder / "Pulumi.yaml").read_text().replace("${", "").replace("}", ""))
    settings = {"name": "digits", "runtime": "python", "config": project["config"]}
    (folder / "Pulumi.yaml").write_text(yaml.safe_dump(settings))
    (base / "state").mkdir()
    variables = {
        **engine.environment(base, data),
        "PULUMI_PYTHON_CMD": str(python),
        "PULUMI_OPTION_SKIP_PREVIEW": "true",
        "PULUMI_OPTION_NON_INTERACTIVE": "true",
    }
    for command in (
        "stack init local",
        "config set vertex-training:endpoint emulator",
        "config set vertex-training:lookupTimeout 120",
    ):
        execute(f"pulumi {command}", folder, variables).ok()
    return engine.with_command(variables, base / "bin", python)


def test_only_the_installation_is_left_out() -> None:
    commands = [line for block in blocks(PAGE) if block.language == "sh" for line in block.lines]
    assert commands[: len(INSTALLATION)] == INSTALLATION


def test_each_command_of_ours_is_accepted_by_its_parser() -> None:
    lines = [line for block in blocks(PAGE) if block.language == "sh" for line in block.lines]
    ours = [shlex.split(line)[1:] for line in lines if line.startswith("vertex-training ")]
    for words in not_empty(ours):
        assert parser.build().parsed(words)


@pytest.mark.parametrize("shown", [0, 1], ids=["a script", "a package"])
def test_each_program_declares_its_job_without_a_warning(tmp_path: Path, shown: int) -> None:
    programs = [number for number, block in enumerate(blocks(PAGE)) if block.file == "__main__.py"]
    assert len(programs) == 2
    for block in blocks(PAGE)[: programs[shown] + 1]:
        if block.file:
            (tmp_path / block.file).parent.mkdir(exist_ok=True)
            (tmp_path / block.file).write_text(block.text, encoding="utf-8")
    settings = {"vertex-training:endpoint": "emulator", "vertex-training:dataDir": str(tmp_path)}
    ran = mocked_program.run("local", settings, folder=str(tmp_path))
    assert (ran.error, "warning" in ran.printed) == ("", False), ran.printed
    pools = ran.named("CustomJob", "train")["worker_pool_specs"]
    assert [pool["replica_count"] for pool in pools] == [[1], [1, 3]][shown]


@deployed
def test_only_the_job_that_should_fail_fails_until_it_is_repaired(steps: list[Step]) -> None:
    commands = [step.command for step in steps]
    breaks, repairs = (commands.index(f"pulumi config set rate {rate}") for rate in ("5", "0.9"))
    failed = {index: step.result.output for index, step in enumerate(steps) if step.result.code}
    ups = [index for index in range(breaks, repairs) if commands[index] == "pulumi up --yes"]
    assert sorted(failed) == ups, failed
    assert len(ups) == 2


@deployed
def test_each_line_that_the_page_shows_is_printed(steps: list[Step]) -> None:
    for step in steps:
        step.check()


@deployed
def test_the_failure_names_the_replica_and_the_log(steps: list[Step]) -> None:
    output, _ = (step.result.output for step in steps if step.result.code)
    assert "exited with a non-zero status of 1" in output
    assert "vertex-training logs" in output
    assert "Traceback" in output, "the program's own"
    (status,) = (step.result.output for step in steps if step.command == "vertex-training status train")
    assert "FAILED" in status
    assert "choose a smaller one" in status


@deployed
def test_the_runs_have_reasons_and_a_better_loss(steps: list[Step]) -> None:
    by_command = {step.command: step.result.output for step in steps}
    runs = by_command["vertex-training runs train"]
    assert [line.split()[3] for line in runs.splitlines() if line[:1].isdigit()] == [
        "SUCCEEDED",
        "FAILED",
        "SUCCEEDED",
        "SUCCEEDED",
        "SUCCEEDED",
    ]
    compared = by_command["vertex-training runs train --compare 3 5"]
    assert "(-" in next(line for line in compared.splitlines() if line.startswith("loss"))
    assert re.search(r"^--rate +0\.5 +0\.9$", compared, re.MULTILINE)


@deployed
def test_the_second_stack_is_one_of_google_cloud(steps: list[Step]) -> None:
    commands = [step.command for step in steps]
    assert commands.index("pulumi stack init prod") < commands.index("pulumi stack select local")


@deployed
@pytest.mark.usefixtures("steps")
def test_the_limit_of_the_page_lets_its_own_program_run_on_google_cloud(project: Project) -> None:
    (limit,) = re.findall(r"add `(max_cost=\d+)` to `DistributedTraining`", PAGE.read_text(encoding="utf-8"))
    program = project.folder / "__main__.py"
    text = program.read_text()
    program.write_text(text.replace('wait="done",', f'wait="done",\n    {limit},'))
    preview = execute("pulumi preview --stack prod", project.folder, project.variables)
    program.write_text(text)
    assert "at most $5.00" in preview.ok().output
