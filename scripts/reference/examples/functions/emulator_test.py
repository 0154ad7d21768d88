"""A test with the fixture of the emulator."""

import requests

from vertex_emulator.testing.emulator import VertexEmulator


def test_a_busy_service_is_asked_again(vertex_emulator: VertexEmulator) -> None:
    parent = f"projects/{vertex_emulator.project}/locations/{vertex_emulator.location}"
    url = f"{vertex_emulator.host}/v1/{parent}/customJobs"
    headers = {"Authorization": f"Bearer {vertex_emulator.token}"}
    fault = vertex_emulator.fault("ListCustomJobs", status=503)

    answers = [requests.get(url, headers=headers, timeout=10).status_code for _ in range(2)]

    assert answers == [503, 200]
    assert fault.fired == 1
