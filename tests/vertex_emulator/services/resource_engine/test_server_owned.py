"""The fields that only the service sets are taken from no client, on any level."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf import json_format

from vertex_emulator.server.rpc import descriptors
from vertex_emulator.services.resource_engine.operations import V1
from vertex_emulator.services.resource_engine.server_owned import without_server_owned

TIME = "2026-01-31T12:00:00Z"


@pytest.mark.parametrize(
    ("kind", "given", "kept"),
    [
        (
            "Dataset",
            {"displayName": "a", "satisfiesPzs": True, "satisfiesPzi": True, "dataItemCount": "3"},
            {"displayName": "a"},
        ),
        (
            "Dataset",
            {"savedQueries": [{"displayName": "q", "createTime": TIME}], "labels": {"a": "b"}},
            {"savedQueries": [{"displayName": "q"}], "labels": {"a": "b"}},
        ),
        (
            "Endpoint",
            {"privateServiceConnectConfig": {"pscAutomationConfigs": [{"network": "n", "ipAddress": "1"}]}},
            {"privateServiceConnectConfig": {"pscAutomationConfigs": [{"network": "n"}]}},
        ),
        (
            "PersistentResource",
            {"name": "x", "resourcePools": [{"id": "p", "replicaCount": "2", "usedReplicaCount": "1"}]},
            {"resourcePools": [{"id": "p", "replicaCount": "2"}]},
        ),
        ("Context", {"name": "x", "etag": "1", "metadata": {"name": "kept"}}, {"metadata": {"name": "kept"}}),
        (
            "Model",
            {"name": "x", "etag": "1", "versionId": "3", "versionAliases": ["a"]},
            {"versionAliases": ["a"]},
        ),
    ],
)
def test_only_the_fields_of_a_client_are_kept(kind: str, given: Any, kept: Any) -> None:
    message = descriptors.message(f"{V1}.{kind}")
    json_format.ParseDict(given, message, descriptor_pool=descriptors.pool())
    made = without_server_owned(message)
    assert json_format.MessageToDict(made, descriptor_pool=descriptors.pool()) == kept
    assert json_format.MessageToDict(message, descriptor_pool=descriptors.pool()) == given
