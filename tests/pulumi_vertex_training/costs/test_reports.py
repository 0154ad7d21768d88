"""The reports of program and provider to the command that runs a preview."""

from __future__ import annotations

from pathlib import Path

import pytest

from pulumi_vertex_training.costs import reports
from pulumi_vertex_training.engine_values import ENGINES_UNKNOWN
from vertex_training.fields.values import UNKNOWN

URN = "urn:pulumi:dev::digits::x::train"
POOL = {
    "machine_spec": {"machine_type": "n1-standard-4", "reservation_affinity": {"values": ["mine"]}},
    "replica_count": 2,
    "container_spec": {"image_uri": "a", "env": [{"name": "KEY", "value": "hunter2"}]},
    "disk_spec": {"boot_disk_size_gb": 200},
}


def test_a_secret_keeps_its_machines_and_numbers_alone() -> None:
    found = reports.public({"display_name": "hunter2", "worker_pool_specs": [POOL, "hunter2"]})
    assert found == {
        "display_name": "[secret]",
        "worker_pool_specs": [
            {
                "machine_spec": {
                    "machine_type": "n1-standard-4",
                    "reservation_affinity": {"values": "[secret]"},
                },
                "replica_count": 2,
                "container_spec": "[secret]",
                "disk_spec": {"boot_disk_size_gb": 200},
            },
            "[secret]",
        ],
    }
    assert reports.public("hunter2") == reports.public(None) == "[secret]"


def test_reports_are_read_and_fill_in_what_a_step_hides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports.add(URN, "newState", {"a": 0})  # nobody wants it
    monkeypatch.setenv(reports.VARIABLE, str(tmp_path))
    reports.add(URN, "oldState", {"pools": [1, 2], "secret": 3, "open": 4})
    reports.add(URN, "newState", {"pools": [UNKNOWN, reports.HIDDEN], "secret": reports.HIDDEN})
    (first, *_) = tmp_path.iterdir()
    assert first.stat().st_mode & 0o777 == 0o600
    hidden = {"inputs": {"pools": reports.HIDDEN, "secret": reports.HIDDEN, "open": "engine"}, "id": "x"}
    step = {"op": "update", "urn": URN, "oldState": hidden, "newState": hidden}
    assert reports.read(tmp_path).revealed(step) == {
        "op": "update",
        "urn": URN,
        "oldState": {
            "inputs": {"pools": [1, reports.HIDDEN], "secret": reports.HIDDEN, "open": "engine"},
            "id": "x",
        },
        "newState": {
            "inputs": {
                "pools": [ENGINES_UNKNOWN, reports.HIDDEN],
                "secret": reports.HIDDEN,
                "open": "engine",
            },
            "id": "x",
        },
    }
    assert reports.read(tmp_path).revealed({**step, "urn": "other"}) == {**step, "urn": "other"}
