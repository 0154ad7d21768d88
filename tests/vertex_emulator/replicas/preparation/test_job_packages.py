"""Python packages of a job: installed once, their requirements apart, in sight of no other package."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from pulumi_vertex_training.runs.diagnosis.diagnosis import diagnose, report
from support.builds.wheels import installed_wheel
from support.emulated.job_emulator import (
    IMAGE,
    SLEEP,
    JobEmulator,
    pool,
    processes_of,
    wait_for_flags,
    wait_until_gone,
)
from support.waiting import eventually
from vertex_emulator.client.lookup import package_folders
from vertex_emulator.replicas.preparation import interpreters
from vertex_emulator.replicas.preparation.packages.installer import code_key, install_code
from vertex_emulator.replicas.preparation.packages.pip import InstallError
from vertex_emulator.replicas.preparation.packages.source_distributions import BuildSystem, read_build_system

CODE = (
    "import sys, yaml, trainer\n"
    "print(sys.argv[1:], trainer.VERSION, yaml.__name__, sys.prefix != sys.base_prefix)\n"
)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that stands for the package index: it has setuptools."""
    folder = tmp_path_factory.mktemp("index")
    installed_wheel(folder, "setuptools")
    return folder


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch, index: Path) -> None:
    """Let pip see only the folder: no test needs a network."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))


def sdist(
    version: str = "1.0", *, requires: str = "pyyaml>=5", code: str = CODE, build: str = "setuptools"
) -> bytes:
    """Create a source archive that setuptools builds; `build` are its build requirements."""
    project = (
        f"[build-system]\nrequires = [{build!r}]\nbuild-backend = 'setuptools.build_meta'\n"
        f"[project]\nname = 'trainer'\nversion = '{version}'\ndependencies = [{requires!r}]\n"
        "[tool.setuptools]\npackages = ['trainer']\n"
    )
    files = {
        "pyproject.toml": project,
        "trainer/__init__.py": f"VERSION = {version!r}\n",
        "trainer/task.py": code,
    }
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, text in files.items():
            info = tarfile.TarInfo(f"trainer-{version}/{name}")
            info.size = len(text.encode())
            archive.addfile(info, io.BytesIO(text.encode()))
    return buffer.getvalue()


def wheel(requires: str = "", *, code: str = "print('the helper')", name: str = "helper") -> bytes:
    """Create a wheel, which needs no build."""
    info = f"{name}-2.0.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: 2.0\n"
    metadata += f"Requires-Dist: {requires}\n" if requires else ""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(f"{name}.py", code)
        archive.writestr(f"{info}/METADATA", metadata)
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return buffer.getvalue()


def stage(emulator: JobEmulator, name: str, data: bytes) -> str:
    path = emulator.data_dir / "buckets" / "staging" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return f"gs://staging/{name}"


def package_pool(*uris: str, module: str = "trainer.task", **fields: Any) -> dict[str, Any]:
    return {
        "machineSpec": {"machineType": "n1-standard-4"},
        "replicaCount": fields.pop("replicas", 1),
        "pythonPackageSpec": {
            "executorImageUri": IMAGE,
            "packageUris": list(uris),
            "pythonModule": module,
            **fields,
        },
    }


def environments(emulator: JobEmulator) -> list[Path]:
    """Return the environments of requirements."""
    return sorted(
        path for path in (emulator.data_dir / "venvs").iterdir() if path.is_dir() and path.name != "code"
    )


def code_folders(emulator: JobEmulator) -> list[Path]:
    """Return the folders of installed packages, without their requirements."""
    return sorted(path for path in (emulator.data_dir / "venvs" / "code").iterdir() if path.is_dir())


@pytest.mark.parity(
    "Custom jobs: Python packages",
    own_way="installed once for all replicas, from the bucket",
    fields=("job_spec.worker_pool_specs.python_package_spec",),
)
def test_packages_are_installed_once(emulator: JobEmulator) -> None:
    raise_rank = "import os\nopen('/gcs/flags/' + os.environ['RANK'], 'w').close()\n"
    uris = [
        stage(emulator, "a/trainer-1.0.tar.gz", sdist(code=CODE + wait_for_flags("1", "2"))),
        stage(emulator, "helper-2.0-py3-none-any.whl", wheel(code="print('the helper')\n" + raise_rank)),
    ]
    chief = package_pool(*uris, args=["--epochs=$(EPOCHS)"], env=[{"name": "EPOCHS", "value": "3"}])
    name = emulator.create(chief, package_pool(*uris, module="helper", replicas=2))
    emulator.wait(name)
    assert emulator.printed(name) == ["['--epochs=3'] 1.0 yaml True"]
    for task in ("workerpool1-0", "workerpool1-1"):
        assert emulator.printed(name, task) == ["the helper"]
    [environment] = environments(emulator)
    marker = environment / "vertex-training.json"
    assert json.loads(marker.read_text())["requirements"] == ["pyyaml>=5"]
    assert list(environment.rglob("yaml/__pycache__/*.pyc")), "no replica has to compile it"
    assert not list(environment.rglob("trainer")), "the code of the packages is elsewhere"
    inode = environment.stat().st_ino
    said = "\n".join(emulator.printed(name, "service"))
    assert "Installing gs://staging/a/trainer-1.0.tar.gz, gs://staging/helper-2.0-py3-none-any.whl" in said
    again = emulator.create(package_pool(*uris))
    assert emulator.wait(again)["state"] == "JOB_STATE_SUCCEEDED"
    assert f"The requirements are already installed in {environment}." in emulator.printed(again, "service")
    code = "import yaml\nprint('edited', yaml.__name__)\n"
    edited = stage(emulator, "helper-2.0-py3-none-any.whl", wheel("pyyaml>=5", code=code))
    after = emulator.create(package_pool(edited, module="helper"))
    assert emulator.wait(after)["state"] == "JOB_STATE_SUCCEEDED"
    assert emulator.printed(after) == ["edited yaml"]
    assert environments(emulator) == [environment], "an edit of the code installs no requirement again"
    assert environment.stat().st_ino == inode
    assert len(code_folders(emulator)) == 2


def test_jobs_at_once_share_an_environment_and_a_change_makes_another(emulator: JobEmulator) -> None:
    uri = stage(emulator, "helper-2.0-py3-none-any.whl", wheel())
    with ThreadPoolExecutor(4) as threads:
        names = list(threads.map(lambda _: emulator.create(package_pool(uri, module="helper")), range(4)))
    for name in names:
        assert emulator.wait(name)["state"] == "JOB_STATE_SUCCEEDED"
        assert emulator.printed(name) == ["the helper"]
    said = [line for name in names for line in emulator.printed(name, "service")]
    assert sum(line.startswith("Installing gs://") for line in said) == 1
    assert sum(line.startswith("The packages are already installed") for line in said) == 3
    stage(emulator, "helper-2.0-py3-none-any.whl", wheel(code="print('changed')"))
    name = emulator.create(package_pool(uri, module="helper"))
    emulator.wait(name)
    assert emulator.printed(name) == ["changed"]
    assert len(code_folders(emulator)) == 2
    assert environments(emulator) == [], "there are no requirements"


def test_a_package_that_is_not_there(emulator: JobEmulator) -> None:
    for uri in ("gs://staging/none-1.0.tar.gz", "gs://staging/../../secret.tar.gz", "gs://../token.tar.gz"):
        (emulator.data_dir.parent / "secret.tar.gz").write_bytes(sdist())
        (emulator.data_dir / "token.tar.gz").write_bytes(sdist())
        ended = emulator.wait(emulator.create(package_pool(uri)))
        assert ended["state"] == "JOB_STATE_FAILED"
        assert ended["error"]["message"].startswith(f"The package {uri} does not exist in the emulator.")
        assert "startTime" not in ended


def test_a_package_that_cannot_be_built(emulator: JobEmulator) -> None:
    uri = stage(emulator, "trainer-1.0.tar.gz", b"no archive")
    name = emulator.create(package_pool(uri))
    ended = emulator.wait(name)
    message = ended["error"]["message"]
    assert message.startswith(f"The packages {uri} could not be installed.")
    assert "stage a wheel" in message
    said = report(diagnose(message), label="job", state="FAILED", logs="logs").split("\n")
    assert said[1] == "The last lines of pip:"
    assert "_untar" in message.partition("\n")[2]
    assert "_untar" not in said[0]
    assert all(line.startswith("    ") for line in said[2:-2])
    assert any(line.startswith("pip: ") for line in emulator.printed(name, "service"))


def archive_of(files: Mapping[str, str]) -> bytes:
    """Create the source archive `trainer-1.tar.gz`."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, text in files.items():
            info = tarfile.TarInfo(f"trainer-1/{name}")
            info.size = len(text.encode())
            archive.addfile(info, io.BytesIO(text.encode()))
    return buffer.getvalue()


def test_a_build_backend_is_never_taken_from_the_emulators_python(
    emulator: JobEmulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fail although this Python has setuptools: another machine's Python may lack it, or have another."""
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "empty"))
    uri = stage(emulator, "trainer-1.0.tar.gz", sdist(build="setuptools>=61"))
    message = emulator.wait(emulator.create(package_pool(uri)))["error"]["message"]
    assert message.startswith(
        f"{uri} is a source distribution, which setuptools builds, and its build requirements "
        "(setuptools>=61) are not available: pip got none from the package index. The package itself is "
        "not at fault."
    )
    assert "PIP_FIND_LINKS" in message
    assert "The last lines of pip:\n    " in message


@pytest.mark.parametrize(
    "document",
    ["", "[project]\nname = 'trainer'\n", "[build-system]\nrequires = 3\n", "not toml", None],
    ids=["empty", "no build system", "wrong type", "no TOML", "no file"],
)
def test_a_build_system_that_is_not_declared_is_setuptools(tmp_path: Path, document: str | None) -> None:
    archive = tmp_path / "trainer-1.tar.gz"
    archive.write_bytes(archive_of({"setup.py": ""} if document is None else {"pyproject.toml": document}))
    assert read_build_system(archive) == BuildSystem()


def test_a_build_does_not_see_the_packages_of_the_emulators_python(emulator: JobEmulator) -> None:
    """Build with a backend in the archive that fails if it can import what only the emulator's Python has."""
    backend = (
        "import importlib.util\n"
        "assert importlib.util.find_spec('yaml') is None, 'the build sees yaml'\n"
        "def build_wheel(folder, config_settings=None, metadata_directory=None):\n"
        "    import zipfile\n"
        "    name = 'trainer-1-py3-none-any.whl'\n"
        "    with zipfile.ZipFile(folder + '/' + name, 'w') as file:\n"
        "        file.writestr('trainer.py', \"import numpy\\nprint('built and sees', numpy.__name__)\\n\")\n"
        "        info = 'trainer-1.dist-info/'\n"
        "        file.writestr(info + 'METADATA', 'Metadata-Version: 2.1\\nName: trainer\\nVersion: 1\\n')\n"
        "        tag = 'Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n'\n"
        "        file.writestr(info + 'WHEEL', tag)\n"
        "        file.writestr(info + 'RECORD', '')\n"
        "    return name\n"
    )
    project = "[build-system]\nrequires = []\nbuild-backend = 'backend'\nbackend-path = ['.']\n"
    archive = archive_of({"pyproject.toml": project, "backend.py": backend})
    name = emulator.create(package_pool(stage(emulator, "trainer-1.tar.gz", archive), module="trainer"))
    assert emulator.wait(name)["state"] == "JOB_STATE_SUCCEEDED", emulator.printed(name, "service")
    assert emulator.printed(name) == ["built and sees numpy"]


def test_a_python_without_pip_gets_it_from_ensurepip(tmp_path: Path) -> None:
    venv.create(tmp_path / "bare", with_pip=False)
    python = tmp_path / "bare" / "bin" / "python"
    (tmp_path / "others").mkdir()
    for installed in Path(sysconfig.get_path("purelib")).iterdir():
        if not installed.name.startswith("pip"):
            (tmp_path / "others" / installed.name).symlink_to(installed)
    package = tmp_path / "helper-2.0-py3-none-any.whl"
    package.write_bytes(wheel())
    request = tmp_path / "request.json"
    wanted = {
        "archives": [{"uri": "gs://b/helper.whl", "path": str(package)}],
        "python": interpreters.own().minor,
        "timeout_scale": 1.0,
    }
    request.write_text(json.dumps(wanted))
    own = [str(folder.parent) for folder in package_folders()]
    subprocess.run(
        [python, "-m", "vertex_emulator.replicas.preparation.packages.builder", request],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([*own, str(tmp_path / "others")])},
        check=True,
        capture_output=True,
    )
    assert json.loads((tmp_path / "result.json").read_text()) == {"requirements": []}
    command = [python, tmp_path / "built" / "helper.py"]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == "the helper\n"


@pytest.mark.parity("Custom jobs: Python packages")
def test_a_requirement_that_cannot_be_met(emulator: JobEmulator) -> None:
    """Install without a reachable index: the message has the remedy."""
    uri = stage(emulator, "helper-2.0-py3-none-any.whl", wheel("pyyaml>=999; python_version>'3'"))
    ended = emulator.wait(emulator.create(package_pool(uri, module="helper")))
    message = ended["error"]["message"]
    assert f"Requirements of the packages {uri} could not be installed: pyyaml>=999." in message
    assert f"{sys.executable} -m pip install 'pyyaml>=999'" in message
    assert "No matching distribution found" in message


@pytest.mark.slow
def test_a_requirement_from_an_index(
    emulator: JobEmulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Use a folder as the index: requirements that the emulator's Python lacks are installed."""
    links = tmp_path / "links"
    links.mkdir()
    (links / "helper-2.0-py3-none-any.whl").write_bytes(wheel())
    monkeypatch.setenv("PIP_FIND_LINKS", str(links))
    uri = stage(
        emulator, "t/user-2.0-py3-none-any.whl", wheel("helper>=1", name="user", code="import helper")
    )
    name = emulator.create(package_pool(uri, module="user"))
    assert emulator.wait(name)["state"] == "JOB_STATE_SUCCEEDED"
    assert emulator.printed(name) == ["the helper"]
    [environment] = environments(emulator)
    [installed] = environment.rglob("helper.py")
    shutil.rmtree(next(environment.rglob("helper-2.0.dist-info")))
    installed.unlink()
    again = emulator.create(package_pool(uri, module="user"))
    assert emulator.wait(again)["state"] == "JOB_STATE_SUCCEEDED", "rebuilt when it lacks something"


def test_cancelled_while_packages_are_installed(emulator: JobEmulator) -> None:
    """Cancel during a build that never ends: none of its processes is left."""
    hang = (
        "[build-system]\nrequires = []\nbuild-backend = 'hang'\nbackend-path = ['.']\n"
        "[project]\nname = 'trainer'\nversion = '1'\n"
    )
    archive = archive_of({"pyproject.toml": hang, "hang.py": f"open('/tmp/x') if 0 else 0\n{SLEEP}"})
    name = emulator.create(package_pool(stage(emulator, "trainer-1.tar.gz", archive)))
    eventually(lambda: any("pip: " in line for line in emulator.printed(name, "service")))
    assert emulator.get(name)["state"] == "JOB_STATE_PENDING"
    assert len(processes_of(name)) >= 2
    emulator.cancel(name)
    ended = emulator.wait(name)
    assert ended["state"] == "JOB_STATE_CANCELLED"
    assert "startTime" not in ended
    wait_until_gone(name)
    import psutil

    venvs = str(emulator.data_dir)
    assert [p for p in psutil.process_iter(["cmdline"]) if venvs in " ".join(p.info["cmdline"] or [])] == []


def test_container_pools_need_no_environment(emulator: JobEmulator) -> None:
    emulator.wait(emulator.create(pool("import sys; print(sys.prefix)")))
    assert environments(emulator) == []


def test_a_link_is_no_package(emulator: JobEmulator, tmp_path: Path) -> None:
    """Reject a link: a program could lead the installer anywhere."""
    uri = stage(emulator, "trainer-1.0.tar.gz", b"")
    path = emulator.data_dir / "buckets" / "staging" / "trainer-1.0.tar.gz"
    path.unlink()
    (tmp_path / "outside.tar.gz").write_bytes(sdist())
    path.symlink_to(tmp_path / "outside.tar.gz")
    ended = emulator.wait(emulator.create(package_pool(uri)))
    assert "does not exist in the emulator" in ended["error"]["message"]


def test_a_package_that_is_replaced_while_it_is_installed(tmp_path: Path) -> None:
    """Check that packages are never cached under another content's key."""
    archive = tmp_path / "helper-2.0-py3-none-any.whl"
    archive.write_bytes(wheel())
    code = tmp_path / code_key([archive], interpreters.own())
    archive.write_bytes(wheel(code="print('another')"))
    archives = [{"uri": "gs://b/helper.whl", "path": str(archive)}]
    with pytest.raises(InstallError, match="replaced while"):
        install_code(code, tmp_path, archives, interpreters.own(), build=lambda *_: pytest.fail("a build"))
    assert list(tmp_path.iterdir()) == [archive]
