"""The pytest fixture's methods for permissions, services and quotas."""

from __future__ import annotations

import pytest

from support.emulated.emulator import call
from vertex_emulator.client.control import ControlError
from vertex_emulator.testing.emulator import VertexEmulator

JOBS = "/v1/projects/local/locations/us-central1/customJobs"


def test_a_test_denies_and_disables(vertex_emulator: VertexEmulator) -> None:
    def status() -> int:
        return call(vertex_emulator.host, "GET", JOBS, token=vertex_emulator.token).status

    assert status() == 200
    vertex_emulator.deny("aiplatform.customJobs.list", "projects/local")
    assert status() == 403
    vertex_emulator.allow("aiplatform.customJobs.list", "projects/local")
    assert status() == 200
    vertex_emulator.disable_service("aiplatform.googleapis.com", "local")
    assert status() == 403
    vertex_emulator.enable_service("aiplatform.googleapis.com", "local")
    assert status() == 200
    vertex_emulator.deny("*")
    vertex_emulator.allow()
    assert status() == 200
    with pytest.raises(ControlError, match="is not a permission"):
        vertex_emulator.deny("everything")
