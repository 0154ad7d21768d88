"""The effects of `sitecustomize` on PYTHONPATH on TensorFlow in a replica with declared accelerators.

`TENSORFLOW` replaces the library, which is too large to install: it has the called functions of `tf.config`,
and prints their arguments.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from vertex_emulator.client.addresses import REDIRECT

TENSORFLOW = """
import json, os
results = []
class config:
    class LogicalDeviceConfiguration:
        pass
    @staticmethod
    def list_physical_devices(kind):
        return [kind + ":0"] if kind in os.environ["DEVICES"] else []
    @staticmethod
    def set_logical_device_configuration(device, configurations):
        results.append([device, len(configurations)])
"""
PROGRAM = "import json, tensorflow; print(json.dumps(tensorflow.results))"


def run(
    folder: Path, program: str = PROGRAM, *, source: str = TENSORFLOW, **environment: str
) -> subprocess.CompletedProcess[str]:
    (folder / "tensorflow").mkdir()
    (folder / "tensorflow" / "__init__.py").write_text(source)
    return subprocess.run(
        [sys.executable, "-c", program],
        env={
            "PATH": "/usr/bin:/bin",
            "PYTHONPATH": os.pathsep.join([str(REDIRECT), str(folder)]),
            "VERTEX_EMULATOR_HOST": "http://127.0.0.1:9",
            "DEVICES": "CPU",
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.parity("Custom jobs: accelerators")
@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        pytest.param({"VERTEX_CLUSTER_LOCAL_DEVICES": "2"}, [["CPU:0", 2]], id="two accelerators"),
        pytest.param({"VERTEX_CLUSTER_LOCAL_DEVICES": "8"}, [["CPU:0", 8]], id="eight accelerators"),
        pytest.param({"VERTEX_CLUSTER_LOCAL_DEVICES": "1"}, [], id="one accelerator"),
        pytest.param({}, [], id="no accelerator"),
        pytest.param(
            {"VERTEX_CLUSTER_LOCAL_DEVICES": "2", "DEVICES": "CPU GPU"}, [], id="a GPU that is there"
        ),
        pytest.param(
            {"VERTEX_CLUSTER_LOCAL_DEVICES": "2", "VERTEX_EMULATOR_HOST": ""},
            [],
            id="outside of the emulator",
        ),
    ],
)
def test_the_cpu_is_divided(tmp_path: Path, environment: dict[str, str], expected: list[object]) -> None:
    done = run(tmp_path, **environment)
    assert (json.loads(done.stdout), done.stderr) == (expected, "")


def test_a_program_without_tensorflow_does_not_import_it(tmp_path: Path) -> None:
    done = run(tmp_path, "import sys; print('tensorflow' in sys.modules)", VERTEX_CLUSTER_LOCAL_DEVICES="2")
    assert (done.stdout, done.stderr) == ("False\n", "")


def test_another_version_is_imported_all_the_same(tmp_path: Path) -> None:
    done = run(tmp_path, source="results = ['as it is']", VERTEX_CLUSTER_LOCAL_DEVICES="2")
    assert done.stdout == '["as it is"]\n'
    assert "tensorflow cannot find 2 devices of the CPU" in done.stderr


def test_a_number_that_is_none_keeps_no_program_from_running(tmp_path: Path) -> None:
    done = run(tmp_path, VERTEX_CLUSTER_LOCAL_DEVICES="many")
    assert done.stdout == "[]\n"
    assert "TensorFlow cannot find many devices" in done.stderr
