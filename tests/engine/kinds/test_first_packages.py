"""A fresh environment without setuptools and without a network deploys a script, a folder and a project."""

from __future__ import annotations

import os
import subprocess
import sysconfig
import venv
from pathlib import Path

import pulumi_vertex_training
from support.client.engine import Engine
from vertex_emulator.client.lookup import package_folders

PROGRAM = """
bucket = vt.StagingBucket("staging", name="first-bucket", force_destroy=True)
script = vt.StagedPackage("script", bucket=bucket, source="task.py", vertex_cluster=True)
folder = vt.StagedPackage("folder", bucket=bucket, source="net")
project = vt.StagedPackage("project", bucket=bucket, source="project")
job = vt.CustomJob(
    "train",
    worker_pool_specs=[
        vt.WorkerPoolSpecArgs(
            machine_spec=vt.MachineSpecArgs(machine_type="n1-standard-4"),
            python_package_spec=vt.PythonPackageSpecArgs(
                executor_image_uri="us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6:latest",
                package_uris=[script.uri, folder.uri, project.uri],
                python_module=script.python_module,
            ),
        )
    ],
    staging_bucket=bucket,
    wait="done",
)
pulumi.export("state", job.completion["state"])
pulumi.export("files", pulumi.Output.all(script.uri, folder.uri, project.uri))
"""
FILES = {
    "task.py": "import net.model, my_project.words, vertex_cluster\nvertex_cluster.from_environment()\n",
    "net/model.py": "",
    "project/pyproject.toml": '[build-system]\nrequires = ["setuptools>=77"]\n'
    'build-backend = "setuptools.build_meta"\n[project]\nname = "my-project"\nversion = "1.0"\n',
    "project/src/my_project/words.py": "",
}
BUILD_TOOLS = ("setuptools", "_distutils_hack", "distutils-precedence", "wheel", "hatchling", "flit_core")


def environment_without_build_tools(folder: Path) -> Path:
    """Create a virtual environment with this Python's packages except build backends. Return its Python."""
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    command = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    site = Path(subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip())
    for installed in Path(sysconfig.get_path("purelib")).iterdir():
        if not installed.name.startswith(BUILD_TOOLS):
            (site / installed.name).symlink_to(installed)
    own = [
        str(folder.parent) for folder in (Path(pulumi_vertex_training.__file__).parent, *package_folders())
    ]
    (site / "first.pth").write_text("\n".join(own))
    found = subprocess.run([python, "-c", "import pulumi, pip, setuptools"], capture_output=True, text=True)
    assert "No module named 'setuptools'" in found.stderr
    return python


def test_a_script_a_folder_and_a_project_need_no_build_backend(engine: Engine, tmp_path: Path) -> None:
    python = environment_without_build_tools(tmp_path / "fresh")
    engine.environment |= {
        "PULUMI_PYTHON_CMD": str(python),
        "PATH": f"{python.parent}{os.pathsep}{engine.environment['PATH']}",
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": "",
    }
    for name, text in FILES.items():
        path = engine.folder / "infra" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    engine.write(PROGRAM)
    engine.up().ok()
    outputs = engine.outputs()
    assert outputs["state"] == "SUCCEEDED"
    assert [uri.rpartition("/")[2] for uri in outputs["files"]] == [
        "trainer-0.1.0-py3-none-any.whl",
        "net-0.1.0-py3-none-any.whl",
        "my_project-1.0-py3-none-any.whl",
    ]
