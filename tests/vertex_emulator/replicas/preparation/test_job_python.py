"""The Python of replicas on stand-ins: installing packages in them, other versions, and what is shared."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.builds.wheels import installed_wheel, make_wheel
from support.emulated.job_emulator import (
    JobEmulator,
    pool,
    raise_flag,
    running_jobs,
    wait_for_flags,
    wait_until_gone,
)
from support.waiting import eventually
from vertex_emulator.daemon import prune
from vertex_emulator.replicas.preparation import interpreters
from vertex_emulator.replicas.preparation.packages import cache, image_packages, private_python
from vertex_emulator.replicas.preparation.packages.plain_wheels import install_plain
from vertex_emulator.replicas.sandbox.sandbox import Sandbox

SEES = """
import importlib.util
names = ("tiny", "yaml", "pulumi", "vertex_emulator", "google.cloud", "numpy", "pip")
print([name for name in names if importlib.util.find_spec(name.split(".")[0])])
"""

USES = """
import google.cloud.storage, hypertune, numpy, importlib.util, shutil, subprocess
print(numpy.dot([1, 2], [3, 4]), google.cloud.storage.Client.__name__)
names = ("pulumi", "yaml", "google.cloud.artifactregistry_v1")
print([name for name in names if importlib.util.find_spec(name)])
print(subprocess.check_output(["f2py", "-v"], text=True).strip() == numpy.__version__)
"""

IN_A_REPLICA = """
set -ex
pip install --upgrade pip
pip3 install --user tiny
tiny-program
pip uninstall --yes tiny
! python3 -c 'import tiny'
pip install tiny==1.0
python3 -c 'import tiny; print("installed", tiny.NAME)'
python3 -m pip uninstall --yes tiny
! python3 -c 'import tiny'
touch "$HOME/written"
"""


@dataclass(frozen=True, kw_only=True)
class Ended:
    """A job that has ended: its resource, the lines of its replica and those of the service."""

    job: dict[str, Any]
    printed: list[str]
    service: list[str]


@dataclass(frozen=True, kw_only=True)
class Made:
    """The jobs of this file, once they have ended, and the files that one of them left."""

    emulator: JobEmulator
    pip: Ended
    isolated: Ended
    without_requirements: Ended
    of_google: Ended
    of_python: Ended
    absent_python: Ended
    left: list[str]


def package(requires: str = "", *, code: str = SEES) -> bytes:
    """Create the wheel of a package `trainer`."""
    info = "trainer-1.0.dist-info"
    metadata = "Metadata-Version: 2.1\nName: trainer\nVersion: 1.0\n"
    metadata += f"Requires-Dist: {requires}\n" if requires else ""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("trainer.py", code)
        archive.writestr(f"{info}/METADATA", metadata)
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return buffer.getvalue()


def package_pool(emulator: JobEmulator, name: str, data: bytes) -> dict[str, Any]:
    """Stage a wheel and return a pool that runs it."""
    path = emulator.data_dir / "buckets" / "staging" / name / "trainer-1.0-py3-none-any.whl"
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    return {
        "machineSpec": {"machineType": "n1-standard-4"},
        "replicaCount": 1,
        "pythonPackageSpec": {
            "executorImageUri": "us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6:latest",
            "packageUris": [f"gs://staging/{name}/{path.name}"],
            "pythonModule": "trainer",
        },
    }


def on_python(code: str) -> dict[str, Any]:
    """Return a pool that runs code on an official Python image, in the version of the emulator's Python."""
    found = pool(code)
    found["containerSpec"]["imageUri"] = f"python:{interpreters.own().minor}"
    return found


def end(emulator: JobEmulator, one: dict[str, Any]) -> Ended:
    name = emulator.create(one)
    job = emulator.wait(name)
    wait_until_gone(name)
    return Ended(job=job, printed=emulator.printed(name), service=emulator.printed(name, "service"))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, sandbox: Sandbox) -> Iterator[Made]:
    """Run the jobs of this file once; pip sees only a folder."""
    index = tmp_path_factory.mktemp("index")
    installed_wheel(index, "pip")
    make_wheel(index, "tiny", scripts="tiny-program = tiny:run", files={"tiny/__init__.py": TINY})
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PIP_NO_INDEX", "1")
        patch.setenv("PIP_FIND_LINKS", str(index))
        with running_jobs(tmp_path_factory.mktemp("data"), sandbox=sandbox) as emulator:
            pip = end(emulator, pool(command=["sh", "-c", IN_A_REPLICA]))
            [folder] = (emulator.data_dir / "jobs").glob("*/replicas/workerpool0-0")
            private = {*private_python.FOLDERS, "image"}
            eventually(lambda: not private & {each.name for each in folder.iterdir()})
            yield Made(
                emulator=emulator,
                pip=pip,
                left=sorted(path.name for path in folder.iterdir()),
                isolated=end(emulator, package_pool(emulator, "a", package("tiny"))),
                without_requirements=end(emulator, package_pool(emulator, "b", package())),
                of_google=end(emulator, pool(USES)),
                of_python=end(emulator, on_python(SEES)),
                absent_python=end(emulator, pool(command=["/usr/bin/python3.99", "-c", "pass"])),
            )


KEY = "{:032x}"
"""The form of an entry's name."""
TINY = "NAME = 'tiny'\ndef run():\n    print('the program of', NAME)\n"


def test_pip_installs_and_removes_packages_in_a_replica(made: Made) -> None:
    assert made.pip.job["state"] == "JOB_STATE_SUCCEEDED", made.pip.printed
    assert "the program of tiny" in made.pip.printed
    assert "installed tiny" in made.pip.printed
    assert sum("Successfully uninstalled tiny" in line for line in made.pip.printed) == 2


def test_what_a_replica_had_for_itself_goes_when_the_job_ends(made: Made) -> None:
    assert {"home", "work"} <= set(made.left), "what the program has written is kept"
    assert not {*private_python.FOLDERS, "image"} & set(made.left)


def test_an_environment_sees_its_requirements_and_nothing_of_the_emulator(made: Made) -> None:
    assert made.isolated.job["state"] == "JOB_STATE_SUCCEEDED", made.isolated.service
    assert made.isolated.printed == ["['tiny', 'pip']"]


def test_a_google_image_has_its_packages_and_none_of_the_emulator(made: Made) -> None:
    assert made.without_requirements.printed == ["['google.cloud', 'numpy', 'pip']"]
    assert made.of_google.job["state"] == "JOB_STATE_SUCCEEDED", made.of_google.printed
    assert made.of_google.printed == ["11 Client", "[]", "True"]


def test_a_python_image_has_only_the_standard_library_and_pip(made: Made) -> None:
    assert made.of_python.printed == ["['pip']"]


def test_a_python_that_neither_image_nor_machine_has_is_refused_by_name(made: Made) -> None:
    assert made.absent_python.job["state"] == "JOB_STATE_FAILED"
    assert "/usr/bin/python3.99" in made.absent_python.job["error"]["message"]


OTHER = next((each for each in ("3.10", "3.12", "3.13", "3.14", "3.9") if interpreters.find(each)), None)
"""Another Python that this machine has, if any."""


@pytest.mark.skipif(OTHER in (None, interpreters.own().minor), reason="this machine has no other Python")
def test_an_official_image_runs_the_python_of_its_name(made: Made) -> None:
    code = (
        "import sys, importlib.util as u\n"
        "print(sys.version_info[:2], u.find_spec('pulumi'), u.find_spec('pip').name)\n"
    )
    other = pool(command=["python3", "-c", code])
    other["containerSpec"]["imageUri"] = f"python:{OTHER}"
    ended = end(made.emulator, other)
    assert ended.job["state"] == "JOB_STATE_SUCCEEDED", ended.printed
    assert ended.printed == [f"(3, {str(OTHER).partition('.')[2]}) None pip"]


def test_packages_of_live_jobs_are_kept_and_the_oldest_others_removed(made: Made) -> None:
    """Clean to nothing while a job holds its packages: only those stay."""
    emulator, venvs = made.emulator, made.emulator.data_dir / "venvs"
    code = raise_flag("started") + wait_for_flags("go")
    name = emulator.create(package_pool(emulator, "c", package("tiny>=1", code=code)))
    eventually(lambda: (emulator.flags / "started").exists())
    before = cache.entries(venvs)
    assert all(entry.size > 0 for entry in before)
    freed = eventually(lambda: prune.prune(emulator.data_dir).installed_packages)
    after = cache.entries(venvs)
    kept = sum(entry.size for entry in after)
    assert freed == sum(entry.size for entry in before) - kept
    assert prune.prune(emulator.data_dir) == prune.Pruned(kept=kept)
    assert len(before) == 5
    assert [entry.path.parent.name for entry in after] in (["code", "venvs"], ["venvs", "code"])
    (emulator.flags / "go").touch()
    assert emulator.wait(name)["state"] == "JOB_STATE_SUCCEEDED"
    wait_until_gone(name)

    def left() -> list[cache.Entry]:
        cache.clean(venvs, keep_bytes=0)  # does nothing while the emulator does the same
        return cache.entries(venvs)

    eventually(lambda: left() == [])
    assert [path.name for path in venvs.iterdir() if path.name.startswith(".removed")] == []


def test_after_ten_edits_the_least_recently_used_packages_go_first(tmp_path: Path) -> None:
    """Keep what fits into the bound: the environment that every edit uses, and the code of the last ones."""
    requirements = tmp_path / KEY.format(10)
    codes = [tmp_path / "code" / KEY.format(edit) for edit in range(10)]
    for number, entry in enumerate((requirements, *codes)):
        entry.mkdir(parents=True)
        (entry / "module.py").write_bytes(bytes(100_000))
        cache.finish(entry, {})
        os.utime(entry / cache.MARKER, (number, number))
    sizes = {entry.path: entry.size for entry in cache.entries(tmp_path)}
    os.close(cache.hold(requirements))
    os.close(cache.hold(codes[2]))
    kept = [requirements, codes[2], codes[8], codes[9]]
    removed = cache.clean(tmp_path, keep_bytes=sum(sizes[path] for path in kept))
    assert removed == [path for path in codes if path not in kept]
    assert {entry.path for entry in cache.entries(tmp_path)} == set(kept)
    assert cache.clean(tmp_path, keep_bytes=sum(sizes[path] for path in kept)) == []
    assert {path for path in (tmp_path / "code").iterdir() if path.is_dir()} == set(kept[1:])


def test_a_plain_wheel_is_installed_as_pip_does(tmp_path: Path) -> None:
    """Compare with pip: all files are the same, except for two that tell how pip was called."""
    scripts = "tiny-program = tiny:run"
    wheel = make_wheel(tmp_path, scripts=scripts, files={"tiny/__init__.py": TINY, "tiny/words.txt": "1"})
    assert install_plain([wheel], tmp_path / "ours", interpreters.own())
    pip = [sys.executable, "-m", "pip", "install", "--no-index", "--no-deps", "--target"]
    subprocess.run([*pip, str(tmp_path / "pip"), str(wheel)], check=True, capture_output=True)
    ours, theirs = (
        {str(path.relative_to(tmp_path / name)) for path in (tmp_path / name).rglob("*")}
        for name in ("ours", "pip")
    )
    assert theirs - ours == {"tiny-1.0.dist-info/REQUESTED", "tiny-1.0.dist-info/direct_url.json"}
    assert ours <= theirs
    first, second, *_ = (tmp_path / "ours/bin/tiny-program").read_text().splitlines()
    in_the_shell = first == "#!/bin/sh" and sys.executable in second  # as pip does for a path with a space
    assert first == f"#!{sys.executable}" or in_the_shell


def test_a_wheel_that_is_not_plain_is_left_to_pip(tmp_path: Path) -> None:
    plain = make_wheel(tmp_path)
    compiled = make_wheel(tmp_path, "compiled", tag="cp311-cp311-manylinux_2_17_x86_64")
    newer = tmp_path / "trainer-1.0-py3-none-any.whl"
    newer.write_bytes(package("tiny\nRequires-Python: >=3.99"))
    without_record = tmp_path / "other-1.0-py3-none-any.whl"
    without_record.write_bytes(package())
    broken = tmp_path / "broken-1.0-py3-none-any.whl"
    broken.write_bytes(b"no archive")
    for other in (compiled, newer, without_record, broken):
        assert not install_plain([plain, other], tmp_path / "ours", interpreters.own()), other
        assert not (tmp_path / "ours").exists()


def test_unfinished_entries_are_removed_unless_a_job_installs(tmp_path: Path) -> None:
    half = tmp_path / "code" / KEY.format(1)
    (half / "packages").mkdir(parents=True)
    with cache.installing(tmp_path):
        assert cache.clean(tmp_path) == []
    assert cache.clean(tmp_path) == [half]
    assert list((tmp_path / "code").iterdir()) == []


def test_links_in_the_folder_of_a_replica_lead_nowhere(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "kept").mkdir(parents=True)
    folder = tmp_path / "replica"
    folder.mkdir()
    (folder / "python").symlink_to(outside)
    private_python.make(folder, interpreters.own(), private_python.SharedPackages())
    assert list(outside.iterdir()) == [outside / "kept"]


def test_another_python_is_found_by_its_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Take an interpreter's word for its version, not that of its name."""
    interpreters.find.cache_clear()
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    (tmp_path / "python3.97").symlink_to(sys.executable)
    other = tmp_path / "python3.98"
    other.write_text(
        "#!/bin/sh\n"
        'echo \'{"version": "3.98.1", "executable": "/opt/python3.98", "base_prefix": "/opt", "path": [], '
        '"sites": [], "wheels": []}\'\n'
    )
    other.chmod(0o755)
    found = interpreters.find("3.98")
    assert found is not None
    assert found.executable == Path("/opt/python3.98")
    assert interpreters.find("3.97") is None
    assert interpreters.find("../3") is None
    assert interpreters.find(interpreters.own().minor) == interpreters.own()
    interpreters.find.cache_clear()


def test_packages_that_are_installed_while_the_emulator_runs_are_seen(tmp_path: Path) -> None:
    """Look the packages of an image up once, until an installation changes their folder."""
    stand_in = "us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6.py310:latest"
    site, images = tmp_path / "site", tmp_path / "images"
    site.mkdir()

    def shown() -> Path | None:
        return image_packages.shared_folder(stand_in, [site, tmp_path / "missing"], images)

    assert shown() is None
    for name in ("numpy", "pandas"):
        (site / name).mkdir()
        (site / name / "__init__.py").touch()
        metadata = site / f"{name}-1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Name: {name}\n\n")
        (metadata / "RECORD").write_text(f"{name}/__init__.py,,\n{metadata.name}/RECORD,,\n")
        folder = shown()
        assert folder is not None
        assert (folder / image_packages.PACKAGES / name / "__init__.py").is_file()
        assert shown() == folder
    seen = sorted(each.name for each in (folder / image_packages.PACKAGES).iterdir())
    assert seen == ["numpy", "numpy-1.0.dist-info", "pandas", "pandas-1.0.dist-info"]
    (folder / cache.MARKER).unlink()  # as after a kill
    (folder / image_packages.PACKAGES / "pandas").unlink()
    assert shown() == folder
    assert (folder / image_packages.PACKAGES / "pandas").is_dir()
