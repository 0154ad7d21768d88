"""Repositories as resources: rules for new ones, changes, lists, IAM policies, settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from support.emulated.emulator import ask
from support.emulated.registries.artifacts import HOST, PARENT, create, push, refused
from support.tables import every_row
from vertex_emulator.daemon.daemon import Daemon

KEY = "projects/p/locations/us-central1/keyRings/r/cryptoKeys/k"


def policy(action: str = "DELETE", **rule: Any) -> dict[str, Any]:
    return {"action": action, **rule}


CONDITION = {"condition": {"tagState": "ANY"}}


@pytest.mark.parametrize(
    "name",
    ["a", "a1", "my-images", "a" * 63, "a-1-b"],
)
def test_a_valid_id(emulator: Daemon, name: str) -> None:
    assert create(emulator, name)["name"] == f"{PARENT}/repositories/{name}"


@pytest.mark.parametrize(
    "name",
    ["A", "1a", "-a", "a-", "a_b", "a.b", "a" * 64, "%C3%A9", "a%2Fb", "", "gcr.io", "%00"],
)
def test_an_invalid_id(emulator: Daemon, name: str) -> None:
    answer = refused(emulator, "POST", f"/v1/{PARENT}/repositories?repositoryId={name}", {"format": "DOCKER"})
    assert answer[:2] == (400, "INVALID_ARGUMENT")


def test_an_id_of_container_registry_in_its_location(emulator: Daemon) -> None:
    found = create(emulator, "gcr.io", parent="projects/local/locations/us")
    assert found["registryUri"] == "us-docker.pkg.dev/local/gcr.io"


@pytest.mark.parity(
    "Artifact Registry: repositories, packages, versions, tags",
    own_way="formats other than DOCKER have no content; virtual and remote repositories are refused",
)
@every_row(
    ("fields", "expected"),
    [
        pytest.param({}, (400, "format"), id="no format"),
        pytest.param({"format": "TARBALL"}, (400, "format"), id="unknown format"),
        pytest.param({"format": 77}, (400, "format"), id="unknown number of a format"),
        pytest.param({"format": "DOCKER", "mode": "VIRTUAL_REPOSITORY"}, (400, "VIRTUAL"), id="virtual"),
        pytest.param({"format": "DOCKER", "mode": "REMOTE_REPOSITORY"}, (400, "REMOTE"), id="remote"),
        pytest.param({"format": "DOCKER", "mode": 9}, (400, "mode"), id="unknown mode"),
        pytest.param({"format": "DOCKER", "disallowUnspecifiedMode": True}, (400, "mode"), id="no mode"),
        pytest.param(
            {"format": "DOCKER", "virtualRepositoryConfig": {}}, (400, "virtual"), id="virtual config"
        ),
        pytest.param({"format": "DOCKER", "remoteRepositoryConfig": {}}, (400, "remote"), id="remote config"),
        pytest.param({"format": "DOCKER", "mavenConfig": {}}, (400, "maven_config"), id="maven config"),
        pytest.param({"format": "PYTHON", "dockerConfig": {}}, (400, "docker_config"), id="docker config"),
        pytest.param({"format": "DOCKER", "labels": {"A": "b"}}, (400, "labels"), id="label key"),
        pytest.param({"format": "DOCKER", "labels": {"a": "B"}}, (400, "labels"), id="label value"),
        pytest.param(
            {"format": "DOCKER", "labels": {f"l{i}": "" for i in range(65)}}, (400, "64"), id="many labels"
        ),
        pytest.param({"format": "DOCKER", "kmsKeyName": "k"}, (400, "kms_key_name"), id="key's name"),
        pytest.param(
            {"format": "DOCKER", "kmsKeyName": KEY.replace("us-central1", "us")},
            (400, "Use a key in"),
            id="key of another place",
        ),
        pytest.param({"format": "DOCKER", "colour": "red"}, (400, "colour"), id="unknown field"),
        pytest.param({"format": "DOCKER", "description": 1}, (400, "description"), id="wrong type"),
        pytest.param([], (400, "Repository"), id="no object"),
        pytest.param({"format": "DOCKER", "cleanupPolicies": {"p": {}}}, (400, "action"), id="no action"),
        pytest.param(
            {"format": "DOCKER", "cleanupPolicies": {"p": policy()}}, (400, "condition"), id="no condition"
        ),
        pytest.param(
            {"format": "DOCKER", "cleanupPolicies": {"p": policy(mostRecentVersions={"keepCount": 1})}},
            (400, "only with the action KEEP"),
            id="most recent ones deleted",
        ),
        pytest.param(
            {
                "format": "DOCKER",
                "cleanupPolicies": {"p": policy("KEEP", mostRecentVersions={"keepCount": 0})},
            },
            (400, "keep_count"),
            id="none to keep",
        ),
        pytest.param(
            {"format": "DOCKER", "cleanupPolicies": {"p": policy(condition={"olderThan": "-1s"})}},
            (400, "older_than"),
            id="negative age",
        ),
        pytest.param(
            {"format": "DOCKER", "cleanupPolicies": {"p": policy(id="q", **CONDITION)}},
            (400, "key"),
            id="another id",
        ),
        pytest.param(
            {"format": "DOCKER", "cleanupPolicies": {f"p{i}": policy(**CONDITION) for i in range(11)}},
            (400, "10"),
            id="many policies",
        ),
        pytest.param(
            {"format": "DOCKER", "cleanupPolicies": {"p" * 128: policy(**CONDITION)}},
            (400, "127"),
            id="long id",
        ),
        pytest.param(
            {
                "format": "DOCKER",
                "cleanupPolicies": {"p": policy(**CONDITION, mostRecentVersions={"keepCount": 1})},
            },
            (400, "oneof"),
            id="both",
        ),
    ],
)
def test_an_invalid_repository(emulator: Daemon, fields: Any, expected: tuple[int, str]) -> None:
    status, _, message = refused(emulator, "POST", f"/v1/{PARENT}/repositories?repositoryId=refused", fields)
    assert (status, expected[1] in message) == (expected[0], True)


def test_an_unknown_location_of_a_repository(emulator: Daemon) -> None:
    path = "/v1/projects/local/locations/eu-west3/repositories?repositoryId=r"
    assert refused(emulator, "POST", path, {"format": "DOCKER"})[0] == 400


@pytest.mark.parity(
    "Artifact Registry: vulnerability scanning", not_done="the enablement state is always SCANNING_DISABLED"
)
def test_output_only_fields(emulator: Daemon) -> None:
    found = create(emulator, "filled", description="d", labels={"a": "b"}, kmsKeyName=KEY, sizeBytes="7")
    assert found["createTime"] == found["updateTime"]
    assert {name: value for name, value in found.items() if not name.endswith("Time")} == {
        "name": f"{PARENT}/repositories/filled",
        "format": "DOCKER",
        "mode": "STANDARD_REPOSITORY",
        "description": "d",
        "labels": {"a": "b"},
        "kmsKeyName": KEY,
        "satisfiesPzi": True,
        "registryUri": f"{HOST}/local/filled",
        "vulnerabilityScanningConfig": {
            "enablementState": "SCANNING_DISABLED",
            "enablementStateReason": "API containerscanning.googleapis.com is not enabled.",
        },
    }


@pytest.mark.parametrize(
    "format_name", ["MAVEN", "NPM", "APT", "YUM", "PYTHON", "KFP", "GO", "GENERIC", "RUBY"]
)
def test_other_formats_are_resources(emulator: Daemon, format_name: str) -> None:
    name = f"{format_name.lower()}-one"
    found = create(emulator, name, format=format_name)
    assert found["registryUri"] == f"us-central1-{format_name.lower()}.pkg.dev/local/{name}"


@pytest.mark.parity("Artifact Registry: repositories, packages, versions, tags")
def test_the_operation_is_done_and_stored(emulator: Daemon) -> None:
    answer = ask(emulator, "POST", f"/v1/{PARENT}/repositories?repositoryId=asked", {"format": "DOCKER"})
    operation = answer.json()
    assert operation["name"].startswith(f"{PARENT}/operations/")
    assert operation["metadata"]["@type"].endswith("artifactregistry.v1.OperationMetadata")
    assert ask(emulator, "GET", f"/v1/{operation['name']}").json() == operation


def test_an_existing_repository(emulator: Daemon, repository: str) -> None:
    path = f"/v1/{PARENT}/repositories?repositoryId={repository}"
    assert refused(emulator, "POST", path, {"format": "DOCKER"})[:2] == (409, "ALREADY_EXISTS")


def test_the_same_id_in_another_location(emulator: Daemon, repository: str) -> None:
    found = create(emulator, repository, parent="projects/local/locations/us")
    assert found["name"] == f"projects/local/locations/us/repositories/{repository}"


def test_a_project_by_its_number(emulator: Daemon, repository: str) -> None:
    from vertex_emulator.kernel.projects import project_number

    path = f"/v1/projects/{project_number('local')}/locations/us-central1/repositories/{repository}"
    assert ask(emulator, "GET", path).json()["name"] == f"{PARENT}/repositories/{repository}"


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_a_missing_repository(emulator: Daemon, method: str) -> None:
    assert refused(emulator, method, f"/v1/{PARENT}/repositories/none")[:2] == (404, "NOT_FOUND")


def test_a_repository_is_deleted_with_its_contents(emulator: Daemon, repository: str) -> None:
    image = f"{HOST}/local/{repository}/trainer"
    push(emulator, image, "v1")
    answer = ask(emulator, "DELETE", f"/v1/{PARENT}/repositories/{repository}")
    assert answer.json()["response"]["@type"].endswith("google.protobuf.Empty")
    create(emulator, repository)
    assert ask(emulator, "GET", f"/v2/{image}/manifests/v1").status == 404


# --- changes


def patch(emulator: Daemon, name: str, mask: str | None, **fields: Any) -> Any:
    query = f"?updateMask={mask}" if mask is not None else ""
    return ask(emulator, "PATCH", f"/v1/{PARENT}/repositories/{name}{query}", fields)


@pytest.mark.parametrize(
    ("mask", "fields", "expected"),
    [
        pytest.param("description", {"description": "new"}, {"description": "new"}, id="description"),
        pytest.param("labels", {"labels": {"c": "d"}}, {"labels": {"c": "d"}}, id="labels"),
        pytest.param("labels", {}, {"labels": None}, id="no labels any more"),
        pytest.param(
            "dockerConfig.immutableTags",
            {"dockerConfig": {"immutableTags": True}},
            {"dockerConfig": {"immutableTags": True}},
            id="immutable tags",
        ),
        pytest.param(
            "docker_config",
            {"dockerConfig": {"immutableTags": True}},
            {"dockerConfig": {"immutableTags": True}},
            id="snake case",
        ),
        pytest.param(
            "cleanupPolicyDryRun", {"cleanupPolicyDryRun": True}, {"cleanupPolicyDryRun": True}, id="dry run"
        ),
        pytest.param(
            "cleanupPolicies",
            {"cleanupPolicies": {"p": policy(**CONDITION)}},
            {"cleanupPolicies": {"p": {"id": "p", "action": "DELETE", **CONDITION}}},
            id="policies",
        ),
        pytest.param(
            "vulnerabilityScanningConfig.enablementConfig",
            {"vulnerabilityScanningConfig": {"enablementConfig": "DISABLED"}},
            {
                "vulnerabilityScanningConfig": {
                    "enablementConfig": "DISABLED",
                    "enablementState": "SCANNING_DISABLED",
                    "enablementStateReason": "API containerscanning.googleapis.com is not enabled.",
                }
            },
            id="scanning",
        ),
        pytest.param("description", {"labels": {"c": "d"}}, {"labels": {"a": "b"}}, id="not in the mask"),
        pytest.param(None, {"description": "new"}, {"labels": None, "description": "new"}, id="no mask"),
        pytest.param("*", {"description": "new"}, {"labels": None, "description": "new"}, id="all"),
        pytest.param("format", {"format": "DOCKER"}, {"format": "DOCKER"}, id="the same format"),
        pytest.param("sizeBytes", {"sizeBytes": "9"}, {"sizeBytes": None}, id="output only"),
    ],
)
def test_an_update(
    emulator: Daemon, make: Callable[..., str], mask: str | None, fields: Any, expected: Any
) -> None:
    name = make(description="old", labels={"a": "b"})
    assert patch(emulator, name, mask, **fields).status == 200
    found = ask(emulator, "GET", f"/v1/{PARENT}/repositories/{name}").json()
    assert {field: found.get(field) for field in expected} == expected


@pytest.mark.parametrize(
    ("mask", "fields"),
    [
        pytest.param("format", {"format": "NPM"}, id="format"),
        pytest.param("mode", {"mode": "REMOTE_REPOSITORY"}, id="mode"),
        pytest.param("kmsKeyName", {"kmsKeyName": KEY}, id="key"),
        pytest.param("kmsKeyName", {}, id="no key any more"),
        pytest.param(None, {"format": "NPM"}, id="format without a mask"),
        pytest.param("colour", {}, id="unknown"),
        pytest.param("description.a", {}, id="below a text"),
        pytest.param("labels.a", {}, id="below a map"),
        pytest.param("mavenConfig", {"mavenConfig": {}}, id="another format's"),
        pytest.param("virtualRepositoryConfig", {"virtualRepositoryConfig": {}}, id="virtual"),
        pytest.param("cleanupPolicies", {"cleanupPolicies": {"p": {}}}, id="wrong policy"),
    ],
)
def test_an_invalid_update(emulator: Daemon, make: Callable[..., str], mask: str | None, fields: Any) -> None:
    name = make(kmsKeyName=f"{KEY}2")
    before = ask(emulator, "GET", f"/v1/{PARENT}/repositories/{name}").json()
    answer = patch(emulator, name, mask, **fields)
    assert (answer.status, answer.json()["error"]["status"]) == (400, "INVALID_ARGUMENT")
    assert ask(emulator, "GET", f"/v1/{PARENT}/repositories/{name}").json() == before


def test_an_update_sets_the_update_time(emulator: Daemon, repository: str) -> None:
    found = patch(emulator, repository, "description", description="new").json()
    assert found["updateTime"] > found["createTime"]


# --- lists


def test_pages_of_a_list(emulator: Daemon) -> None:
    parent = "projects/paged/locations/us-central1"
    wanted = [create(emulator, f"r{number}", parent=parent)["name"] for number in range(5)]
    found, token = [], ""
    for _ in range(3):
        answer = ask(emulator, "GET", f"/v1/{parent}/repositories?pageSize=2&pageToken={token}").json()
        found += [each["name"] for each in answer["repositories"]]
        token = answer.get("nextPageToken", "")
    assert (found, token) == (wanted, "")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        pytest.param("", ["beta", "alpha-one"], id="all", marks=[]),
        pytest.param("filter=name%3D%22*/alpha-*%22", ["alpha-one"], id="wildcard"),
        pytest.param("filter=name%3D%22*ALPHA*%22", ["alpha-one"], id="whatever the case"),
        pytest.param("filter=name!%3D%22*alpha*%22", ["beta"], id="other than"),
        pytest.param("filter=NOT%20name%3D%22*alpha*%22", ["beta"], id="not"),
        pytest.param("orderBy=create_time", ["beta", "alpha-one"], id="in order of time"),
        pytest.param("orderBy=createTime%20desc", ["alpha-one", "beta"], id="latest first"),
        pytest.param("orderBy=name%20desc", ["beta", "alpha-one"], id="by name, last first"),
    ],
)
def test_a_list(emulator: Daemon, query: str, expected: list[str]) -> None:
    parent = "projects/listed/locations/us-central1"
    for name in ("beta", "alpha-one"):
        ask(emulator, "POST", f"/v1/{parent}/repositories?repositoryId={name}", {"format": "DOCKER"})
    found = ask(emulator, "GET", f"/v1/{parent}/repositories?{query}").json()
    names = [each["name"].rpartition("/")[2] for each in found["repositories"]]
    assert names == (expected if query else sorted(expected))


@pytest.mark.parametrize(
    "query",
    [
        "filter=size%3D1",
        "filter=name",
        "filter=name:x",
        "filter=name%3C1",
        "filter=(",
        "orderBy=colour",
        "orderBy=name,createTime",
        "orderBy=name%20up",
        "pageSize=-1",
        "pageSize=x",
        "pageToken=x",
        "pageToken=W1sxLDJdLCJ4Il0",
        "colour=red",
    ],
)
def test_an_invalid_list_request(emulator: Daemon, repository: str, query: str) -> None:
    assert refused(emulator, "GET", f"/v1/{PARENT}/repositories?{query}")[:2] == (400, "INVALID_ARGUMENT")


def test_the_page_token_of_another_list(emulator: Daemon, repository: str, make: Callable[..., str]) -> None:
    make()
    token = ask(emulator, "GET", f"/v1/{PARENT}/repositories?pageSize=1").json()["nextPageToken"]
    path = f"/v1/{PARENT}/repositories?pageSize=1&orderBy=create_time&pageToken={token}"
    assert refused(emulator, "GET", path)[0] == 400


# --- IAM policies

READER = "roles/artifactregistry.reader"


def set_policy(emulator: Daemon, name: str, **fields: Any) -> Any:
    return ask(emulator, "POST", f"/v1/{PARENT}/repositories/{name}:setIamPolicy", {"policy": fields})


def test_a_policy_is_stored(emulator: Daemon, repository: str) -> None:
    bindings = [{"role": READER, "members": ["allUsers"]}]
    made = set_policy(emulator, repository, bindings=bindings).json()
    assert made["bindings"] == bindings
    assert ask(emulator, "GET", f"/v1/{PARENT}/repositories/{repository}:getIamPolicy").json() == made


def test_an_outdated_etag(emulator: Daemon, repository: str) -> None:
    old = ask(emulator, "GET", f"/v1/{PARENT}/repositories/{repository}:getIamPolicy").json()["etag"]
    binding = {"role": READER, "members": ["allUsers"]}
    assert set_policy(emulator, repository, bindings=[binding], etag=old).status == 200
    assert set_policy(emulator, repository, bindings=[], etag=old).json()["error"]["status"] == "ABORTED"


def test_the_policy_of_a_new_repository_of_the_same_name(emulator: Daemon, repository: str) -> None:
    set_policy(emulator, repository, bindings=[{"role": READER, "members": ["allUsers"]}])
    ask(emulator, "DELETE", f"/v1/{PARENT}/repositories/{repository}")
    create(emulator, repository)
    found = ask(emulator, "GET", f"/v1/{PARENT}/repositories/{repository}:getIamPolicy").json()
    assert "bindings" not in found


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"bindings": [{"role": "reader", "members": ["allUsers"]}]}, id="role"),
        pytest.param({"bindings": [{"role": READER, "members": ["me"]}]}, id="member"),
        pytest.param({"version": 2}, id="version"),
        pytest.param(
            {"bindings": [{"role": READER, "members": ["allUsers"], "condition": {"expression": "true"}}]},
            id="condition",
        ),
        pytest.param({"auditConfigs": [{"service": "allServices"}]}, id="audit"),
    ],
)
def test_an_invalid_policy(emulator: Daemon, repository: str, fields: Any) -> None:
    assert set_policy(emulator, repository, **fields).status == 400


def test_permissions(emulator: Daemon, repository: str) -> None:
    path = f"/v1/{PARENT}/repositories/{repository}:testIamPermissions"
    wanted = ["artifactregistry.repositories.get", "storage.objects.get"]
    assert ask(emulator, "POST", path, {"permissions": wanted}).json() == {"permissions": wanted[:1]}


@pytest.mark.parametrize("verb", ["setIamPolicy", "testIamPermissions"])
def test_the_policy_of_a_missing_repository(emulator: Daemon, verb: str) -> None:
    assert refused(emulator, "POST", f"/v1/{PARENT}/repositories/none:{verb}", {})[0] == 404


# --- places and settings


def test_a_location(emulator: Daemon) -> None:
    assert ask(emulator, "GET", f"/v1/{PARENT}").json()["locationId"] == "us-central1"


def test_an_unknown_location(emulator: Daemon) -> None:
    assert ask(emulator, "GET", "/v1/projects/local/locations/nowhere").status == 404


def test_locations_in_pages(emulator: Daemon) -> None:
    found = ask(emulator, "GET", "/v1beta2/projects/local/locations?pageSize=3").json()
    assert [each["locationId"] for each in found["locations"]] == ["africa-south1", "asia", "asia-east1"]


def test_settings_of_a_project(emulator: Daemon) -> None:
    path = "/v1/projects/local/projectSettings"
    body = {"legacyRedirectionState": "REDIRECTION_FROM_GCR_IO_ENABLED"}
    ask(emulator, "PATCH", f"{path}?updateMask=legacy_redirection_state", body)
    assert ask(emulator, "GET", path).json() == {"name": "projects/local/projectSettings", **body}


def test_settings_of_a_location(emulator: Daemon) -> None:
    path = f"/v1/{PARENT}/vpcscConfig"
    ask(emulator, "PATCH", path, {"vpcscPolicy": "DENY"})
    assert ask(emulator, "GET", path).json() == {"name": f"{PARENT}/vpcscConfig", "vpcscPolicy": "DENY"}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        pytest.param("/v1/projects/local/projectSettings", {"pullPercent": 101}, id="percent"),
        pytest.param("/v1/projects/local/projectSettings?updateMask=colour", {}, id="mask"),
    ],
)
def test_invalid_settings(emulator: Daemon, path: str, body: Any) -> None:
    assert refused(emulator, "PATCH", path, body)[:2] == (400, "INVALID_ARGUMENT")
