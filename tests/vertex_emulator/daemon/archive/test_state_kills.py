"""An emulator that is killed in an import or a reset."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from support.emulated.archives.exported_state import assert_empty, buckets, exported, get, objects
from support.emulated.archives.members import control, packed
from support.emulated.emulator import running
from support.emulated.services.killed_emulator import KILLED, PROGRAM
from vertex_emulator.client.interpreter import interpreter


def killed(folder: Path, archive: Path, act: str, step: str, occurrence: int = 1) -> None:
    """Import, or import and reset, in a process that is killed right before an occurrence of a step."""
    arguments = [str(folder), step, str(occurrence), act, str(archive)]
    assert subprocess.run([interpreter(), PROGRAM, *arguments], check=False).returncode in KILLED


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a snapshot with a job and 21 objects."""
    folder = tmp_path_factory.mktemp("many")
    members = exported(folder / "source", "hello", *(f"folder%2F{number}" for number in range(2, 22)))
    archive = folder / "state.tar"
    archive.write_bytes(packed(members))
    return archive


@pytest.mark.parametrize(
    ("step", "occurrence", "is_there"),
    [
        pytest.param("unpack object", 10, False, id="unpacking"),
        pytest.param("add archive", 1, False, id="unpacked"),
        pytest.param("make folders", 10, False, id="making folders"),
        pytest.param("record imported object", 10, False, id="recording"),
        pytest.param("commit import", 1, False, id="not committed"),
        pytest.param("move imported files", 1, True, id="committed"),
        pytest.param("put file", 9, True, id="moving files"),
        pytest.param("clean up import", 1, True, id="all but done"),
    ],
)
def test_an_emulator_killed_in_an_import_has_all_or_nothing(
    tmp_path: Path, many: Path, step: str, occurrence: int, is_there: bool
) -> None:
    folder = tmp_path / "killed"
    killed(folder, many, "import", step, occurrence)
    with running(folder) as daemon:
        if not is_there:
            assert_empty(daemon)
            return
        assert len(get(daemon, "/_local/jobs")["jobs"]) == 1
        found = objects(daemon, "some-bucket")
        assert (len(found), {content for _, content in found.values()}) == (21, {b"hello"})
        assert list(daemon.folder.incoming.iterdir()) == []


@pytest.mark.parametrize(
    "step",
    [
        pytest.param("remove everything", id="jobs are gone"),
        pytest.param("remove all records", id="before the records"),
        pytest.param("remove all files", id="after the records"),
    ],
)
def test_an_emulator_killed_in_a_reset_can_be_reset(tmp_path: Path, many: Path, step: str) -> None:
    """Kill a reset: it leaves no file that a new bucket of the same name would adopt."""
    folder = tmp_path / "killed"
    killed(folder, many, "reset", step)
    with running(folder) as daemon:
        recorded = {each["name"] for each in buckets(daemon)}
        assert {path.name for path in daemon.folder.buckets.iterdir()} <= recorded
        assert list(daemon.folder.incoming.iterdir()) == []
        assert all(content == b"hello" for name in recorded for _, content in objects(daemon, name).values())
        control(daemon).reset()
        assert_empty(daemon)
        control(daemon).import_state(many)
        assert len(objects(daemon, "some-bucket")) == 21
