"""The bundled definitions of Artifact Registry against the installed client, which drifts."""

from __future__ import annotations

import pytest

from support.emulated.emulator import ask
from support.tables import every_row
from vertex_emulator.daemon.daemon import Daemon
from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc import methods as rpc


def rules_of_client(name: str) -> set[tuple[str, str, str]]:
    from google.cloud.artifactregistry_v1.services.artifact_registry.transports import rest_base

    base = rest_base._BaseArtifactRegistryRestTransport
    options = getattr(base, f"_Base{name}")._get_http_options()
    return {(each["method"].upper(), each["uri"], each.get("body", "")) for each in options}


@every_row("method", list(descriptors.methods(descriptors.ARTIFACT_REGISTRY)), ids=lambda each: each.name)
def test_rules(method: descriptors.Method) -> None:
    ours = {(rule.verb, rule.uri, rule.body) for rule in method.rules}
    assert ours == rules_of_client(method.name.rpartition(".")[2])


@pytest.mark.parametrize("name", ["GetLocation", "ListLocations"])
def test_rules_of_locations(name: str) -> None:
    ours = {(rule.verb, rule.uri, rule.body) for rule in rpc.LOCATION_RULES[name]}
    assert rules_of_client(name) <= ours


def test_the_rule_of_operations_is_one_of_those_for_jobs() -> None:
    ours = {(rule.verb, rule.uri, rule.body) for rule in rpc.OPERATION_RULES["GetOperation"]}
    assert rules_of_client("GetOperation") <= ours


@pytest.mark.parametrize(
    ("method", "path", "name"),
    [
        pytest.param("GET", "repositories/r/npmPackages", "ListNpmPackages", id="npm"),
        pytest.param("POST", "repositories/r/aptArtifacts:import", "ImportAptArtifacts", id="apt"),
        pytest.param("GET", "repositories/r/attachments", "ListAttachments", id="attachments"),
        pytest.param("GET", "repositories/r/rules", "ListRules", id="rules"),
        pytest.param("POST", "repositories/r:exportArtifact", "ExportArtifact", id="export"),
        pytest.param("DELETE", "repositories/r/files/f", "DeleteFile", id="files"),
    ],
)
def test_the_error_names_the_missing_item(emulator: Daemon, method: str, path: str, name: str) -> None:
    body = None if method in ("GET", "DELETE") else {}
    answer = ask(emulator, method, f"/v1/projects/local/locations/us-central1/{path}", body)
    assert (answer.status, name in answer.message) == (400, True)


def test_an_unknown_verb_is_not_an_identifier(emulator: Daemon) -> None:
    path = "/v1/projects/local/locations/us-central1/repositories/r:unheardOf"
    assert ask(emulator, "GET", path).status == 400


@pytest.mark.parametrize("slash", ["%2F", "%2f", "%252F"])
def test_a_slash_within_a_name_stays_one_segment(emulator: Daemon, slash: str) -> None:
    path = f"/v1/projects/local/locations/us-central1/repositories/none/packages/a{slash}b"
    assert "repositories/none was not found" in ask(emulator, "GET", path).message
