"""`make clean`: the folders of the chores go, all else stays, and a clone in use is refused."""

from __future__ import annotations

import fcntl
import io
import json
from pathlib import Path

import pytest

from scripts.layout import Layout
from scripts.report import ChoreError, Report
from scripts.setup import cleaning
from scripts.tools import go_caches

MINE = ("notes.txt", "dist/mine.whl", "infra/__main__.py", "policies/policy.py")


@pytest.fixture
def clone(layout: Layout) -> Layout:
    """Return a clone with all folders that chores make, and files of a person beside them."""
    for folder in (
        layout.venv / "bin",
        layout.root / "policies" / "venv",
        layout.root / ".mypy_cache",
        layout.distributions[0] / "src" / "ours.egg-info",
        layout.pulumi_home,
        layout.cache / "pulumi-3.259.0" / "bin",
    ):
        folder.mkdir(parents=True)
        (folder / "file").write_bytes(bytes(5000))
    (layout.venv / "pyvenv.cfg").touch()
    go_caches.environment(layout.cache, {})
    for name in MINE:
        (layout.root / name).parent.mkdir(parents=True, exist_ok=True)
        (layout.root / name).write_text("mine")
    return layout


def write_state(layout: Layout, latest: object) -> Path:
    file = layout.state / ".pulumi" / "stacks" / "project" / "dev.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"checkpoint": {"latest": latest}}))
    return file


def refused(layout: Layout, report: Report) -> str:
    """Fail to clean, and check that everything is still there. Return the reason."""
    before = cleaning.targets(layout)
    with pytest.raises(ChoreError) as caught:
        cleaning.clean(layout, report)
    assert cleaning.targets(layout) == before
    return str(caught.value)


def test_only_the_folders_of_chores_are_deleted(
    clone: Layout, report: Report, printed: io.StringIO, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").touch()
    (clone.local / "link").symlink_to(outside)
    write_state(clone, {"resources": [], "pending_operations": None})
    assert cleaning.clean(clone, report) == 0
    assert cleaning.targets(clone) == []
    assert all((clone.root / name).read_text() == "mine" for name in MINE)
    assert (outside / "kept").exists()
    assert str(clone.cache) in printed.getvalue()
    assert cleaning.clean(clone, report) == 0
    assert printed.getvalue().endswith("There is nothing to delete.\n")


def test_only_the_link_of_a_linked_folder_is_deleted(clone: Layout, report: Report, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    clone.cache.rename(disk)
    clone.cache.symlink_to(disk)
    cleaning.clean(clone, report)
    assert not clone.cache.is_symlink()
    assert (disk / "pulumi-3.259.0").is_dir()


@pytest.mark.parametrize(
    "latest", [{"resources": [{"urn": "a"}]}, {"resources": [], "pending_operations": [{"type": "creating"}]}]
)
def test_a_stack_with_resources_is_refused(clone: Layout, report: Report, latest: object) -> None:
    write_state(clone, latest)
    assert "Stack dev of project project has 1 resources" in refused(clone, report)


@pytest.mark.parametrize(
    ("folder", "command"),
    [
        (".", "`make down STACK=dev`."),
        ("environment", "`make down STACK=dev FOLDER=environment`."),
        (
            "elsewhere",
            "in the folder of the program project, `source CLONE/activate` and `pulumi destroy -s dev`.",
        ),
    ],
)
def test_a_refusal_names_the_command_that_deletes_the_resources(
    clone: Layout, report: Report, folder: str, command: str
) -> None:
    program = clone.root / folder / "Pulumi.yaml"
    program.parent.mkdir(exist_ok=True)
    program.write_text("name: project\nruntime: python\n")
    write_state(clone, {"resources": [{"urn": "a"}]})
    assert refused(clone, report).endswith(command)


def test_an_unreadable_state_is_refused(clone: Layout, report: Report) -> None:
    write_state(clone, None).write_text("{")
    assert "cannot be read, so nothing was deleted" in refused(clone, report)


def test_a_running_setup_is_refused(clone: Layout, report: Report) -> None:
    with (clone.cache / "client-tools.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert f"Another command is using {clone.cache}" in refused(clone, report)


def test_a_folder_that_is_no_environment_is_kept(clone: Layout, report: Report) -> None:
    (clone.venv / "pyvenv.cfg").unlink()
    (clone.venv / "notes.txt").write_text("mine")
    with pytest.raises(ChoreError, match="is not a Python environment"):
        cleaning.clean(clone, report)
    assert (clone.venv / "notes.txt").read_text() == "mine"


def test_a_running_emulator_without_its_command_is_refused(clone: Layout, report: Report) -> None:
    clone.emulator.mkdir()
    (clone.emulator / "data-folder.json").touch()
    with (clone.emulator / "emulator.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "is running" in refused(clone, report)
