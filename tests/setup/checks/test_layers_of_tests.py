"""The tests of each package stand alone: neither they nor their support code use a package above it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.tables import not_empty

TESTS = Path(__file__).resolve().parents[2]

GROUND = {"vertex_training", "vertex_cluster"}
EMULATOR = GROUND | {"vertex_emulator"}
CLIENT = EMULATOR | {"pulumi_vertex_training"}

ALLOWED = {
    "vertex_cluster": GROUND,
    "vertex_training": GROUND,
    "support/ground": GROUND,
    "vertex_emulator": EMULATOR,
    "support/emulated": EMULATOR,
}
"""The packages that the files of a folder may import. Support code is in the folder of its packages."""

OF_BOTH = {
    "vertex_emulator/jobs/custom/checks/test_job_fields.py",  # fields of the client's recorded requests
    "vertex_emulator/jobs/custom/checks/test_machine_types.py",  # a switch of the client's gateways
    "vertex_emulator/replicas/preparation/test_job_packages.py",  # the client's diagnosis of a log
    "vertex_emulator/jobs/tuning/test_ends_of_trials.py",  # the client's view of the emulator's trials
}
"""Tests that compare client and emulator, with the emulator's fixtures."""

OF_SUPPORT = {"ground": GROUND, "emulated": EMULATOR, "client": CLIENT}


def imports(file: Path) -> Iterator[str]:
    """Yield the full name of each module or value that a file imports."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from (f"{node.module}.{name.name}" for name in node.names)


def packages(name: str) -> set[str]:
    """Return the packages that an import needs: itself, or those of its folder of support code."""
    first, second, *_ = [*name.split("."), ""]
    if first == "support":
        return OF_SUPPORT.get(second, set()) - GROUND
    return {first} & CLIENT


@pytest.mark.parametrize("folder", ALLOWED)
def test_a_package_is_tested_without_those_above_it(folder: str) -> None:
    files = not_empty((TESTS / folder).rglob("*.py"))
    found = {
        f"{file.relative_to(TESTS)}: {name}"
        for file in files
        if str(file.relative_to(TESTS)) not in OF_BOTH
        for name in imports(file)
        if not packages(name) <= ALLOWED[folder]
    }
    assert found == set()


def test_other_support_code_uses_no_package() -> None:
    """Look at imports only: the modules that a warm interpreter imports are named in strings."""
    folders = [each for each in (TESTS / "support").iterdir() if each.name not in OF_SUPPORT]
    files = [file for each in folders for file in ([each] if each.suffix == ".py" else each.rglob("*.py"))]
    found = {f"{file.relative_to(TESTS)}: {name}" for file in not_empty(files) for name in imports(file)}
    found = {each for each in found if packages(each.partition(": ")[2])}
    assert found == set()


def test_every_exception_exists_and_is_one() -> None:
    for each in OF_BOTH:
        assert any("pulumi_vertex_training" in packages(name) for name in imports(TESTS / each)), each
