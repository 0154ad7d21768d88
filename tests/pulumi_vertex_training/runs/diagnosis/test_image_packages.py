"""The emulator's notices about the packages of a replica, and the module that its program lacks."""

from __future__ import annotations

import pytest

from pulumi_vertex_training.runs.diagnosis.image_packages import missing_distribution, remedy

SKLEARN = "us-docker.pkg.dev/vertex-ai/training/sklearn-cpu.1-6:latest"
PYTHON = (
    "Python 3.12.3 of this machine (/usr/bin/python3), with those packages of /v that the image has. It runs."
)
ALONE = f"Emulator: the image {SKLEARN} is not run; this replica uses {PYTHON}"
BUILT = (
    "Emulator: this replica runs the image train:1 with its files. Instead of its base image "
    f"{SKLEARN}, it uses the files of this machine, with {PYTHON}"
)


@pytest.mark.parametrize("notice", [ALONE, BUILT])
def test_the_image_is_the_one_of_the_notice(notice: str) -> None:
    assert missing_distribution("the Python module sklearn is missing", [notice]) == "scikit-learn"
    assert missing_distribution("the Python module torch is missing", [notice]) is None
    assert missing_distribution("json cannot be imported", [notice]) is None
    assert missing_distribution("the Python module sklearn is missing", []) is None


def test_the_command_can_be_pasted() -> None:
    assert "`'/my work/.venv/bin/python' -m pip install numpy`" in remedy(
        "numpy", "/my work/.venv/bin/python"
    )
