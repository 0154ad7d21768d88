"""The repository's normal form, its JSON, and the body of an update."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from google.protobuf import json_format
from hypothesis import given
from hypothesis import strategies as st

from pulumi_vertex_training.kinds.image_repository.rules import read
from pulumi_vertex_training.kinds.image_repository.spec import (
    CleanupCondition,
    CleanupPolicy,
    DockerConfig,
    MostRecentVersions,
    RepositorySpec,
    VulnerabilityScanningConfig,
    from_wire,
    normalise,
    patch,
    to_wire,
    url,
)

MINIMAL = {"repository_id": "trainers", "location": "us-central1"}
FULL_NAME = "projects/p/locations/us-central1/repositories/trainers"


def repository(**fields: Any) -> RepositorySpec:
    return normalise(RepositorySpec(**{**MINIMAL, **fields}))


def google_repository() -> Any:
    """Return Google's own message; its package takes most of a second to load."""
    from google.cloud import artifactregistry_v1

    return artifactregistry_v1.Repository.pb()


def as_served(body: dict[str, Any]) -> dict[str, Any]:
    """Return the repository as the service returns it: parsed by Google's message, with defaults."""
    message = google_repository()()
    json_format.ParseDict({**body, "name": FULL_NAME}, message)
    message.size_bytes = 7
    message.registry_uri = "us-central1-docker.pkg.dev/p/trainers"
    message.vulnerability_scanning_config.enablement_state = 2
    return json_format.MessageToDict(message)


prefixes = st.lists(st.sampled_from(["dev", "v1."]), max_size=2).map(tuple)
ages = st.none() | st.sampled_from(["30d", "3600s", "1.5s"])
conditions = st.builds(
    CleanupCondition,
    tag_state=st.sampled_from(["ANY", "TAGGED", "UNTAGGED"]),
    tag_prefixes=prefixes,
    version_name_prefixes=prefixes,
    package_name_prefixes=prefixes,
    older_than=ages,
    newer_than=ages,
)
recent = st.builds(MostRecentVersions, keep_count=st.integers(1, 9), package_name_prefixes=prefixes)
ids, actions = st.sampled_from("abcd"), st.sampled_from(["DELETE", "KEEP"])
policies = st.builds(CleanupPolicy, id=ids, action=actions, condition=st.none() | conditions) | st.builds(
    CleanupPolicy, id=ids, action=st.just("KEEP"), most_recent_versions=recent
)
repositories = st.builds(
    RepositorySpec,
    repository_id=st.just("trainers"),
    location=st.sampled_from(["us-central1", "US-Central1"]),
    mode=st.sampled_from(["", "STANDARD", "standard_repository"]),
    description=st.sampled_from(["", "what we train with"]),
    labels=st.dictionaries(st.sampled_from(["team", "cost"]), st.sampled_from(["", "a"])),
    cleanup_policies=st.lists(policies, max_size=3, unique_by=lambda one: one.id).map(tuple),
    cleanup_policy_dry_run=st.booleans(),
    docker_config=st.none() | st.builds(DockerConfig, immutable_tags=st.booleans()),
    vulnerability_scanning_config=st.none()
    | st.builds(VulnerabilityScanningConfig, enablement_config=st.sampled_from(["INHERITED", "DISABLED"])),
)


@given(repositories)
def test_wire_round_trip(spec: RepositorySpec) -> None:
    assert from_wire(as_served(to_wire(spec))) == normalise(spec)


@given(repositories)
def test_normalise_is_idempotent(spec: RepositorySpec) -> None:
    assert normalise(normalise(spec)) == normalise(spec)


@given(repositories)
def test_the_patch_of_an_unchanged_repository_is_empty(spec: RepositorySpec) -> None:
    assert patch(spec, normalise(spec)) == {}


@given(repositories, repositories)
def test_an_update_turns_the_old_repository_into_the_new_one(
    old: RepositorySpec, new: RepositorySpec
) -> None:
    served = as_served({**to_wire(old), **patch(old, new)})
    assert from_wire(served) == normalise(new)


@pytest.mark.parametrize(
    ("change", "sent"),
    [
        pytest.param({"description": "d"}, {"description": "d"}, id="description"),
        pytest.param({"labels": {"a": "b"}}, {"labels": {"a": "b"}}, id="labels"),
        pytest.param(
            {"docker_config": DockerConfig(immutable_tags=True)},
            {"dockerConfig": {"immutableTags": True}},
            id="tags",
        ),
        pytest.param({"cleanup_policy_dry_run": True}, {"cleanupPolicyDryRun": True}, id="dry run"),
        pytest.param({"force_destroy": True}, {}, id="force_destroy"),
    ],
)
def test_an_update_sends_only_changes(change: dict[str, Any], sent: dict[str, Any]) -> None:
    assert patch(repository(), repository(**change)) == sent


@pytest.mark.parametrize("field", ["repository_id", "location", "kms_key_name"])
def test_fields_that_cannot_change_in_place(field: str) -> None:
    with pytest.raises(ValueError, match=field):
        patch(repository(), repository(**{field: "another"}))


def test_ownership_labels_are_not_declared_labels() -> None:
    body = to_wire(repository(labels={"team": "a"}), ownership_labels={"pulumi-stack": "dev"})
    assert body["labels"] == {"team": "a", "pulumi-stack": "dev"}
    assert from_wire(as_served(body)).labels == {"team": "a"}


def test_ownership_labels_survive_an_update_of_the_labels() -> None:
    body = patch(repository(), repository(labels={"team": "a"}), ownership_labels={"pulumi-stack": "dev"})
    assert body == {"labels": {"team": "a", "pulumi-stack": "dev"}}


def test_every_problem_is_found_at_once() -> None:
    decoded = read(
        {
            "repository_id": "A",
            "location": "mars",
            "mode": "VIRTUAL",
            "docker_config": {"immutable_tags": "yes"},
            "colour": "red",
        }
    )
    assert [problem.path for problem in decoded.problems] == [
        "colour",
        "docker_config.immutable_tags",
        "repository_id",
        "location",
        "mode",
    ]


@pytest.mark.parametrize(
    ("project", "address"),
    [
        ("p", "europe-docker.pkg.dev/p/trainers"),
        ("example.com:web", "europe-docker.pkg.dev/example.com/web/trainers"),
    ],
)
def test_the_url_of_a_repository(project: str, address: str) -> None:
    assert url(project, "europe", "trainers") == address


def test_every_field_of_the_installed_api_is_known() -> None:
    """Fail for a field that Google adds, until it is supported, rejected by name, or set by the service."""
    ours = {
        *(item.name for item in dataclasses.fields(RepositorySpec)),
        *RepositorySpec.UNSUPPORTED,
        *RepositorySpec.SERVER_OWNED,
    } - {"repository_id", "force_destroy", "location"}
    others = {"name", "disallow_unspecified_mode"}
    fields = {field.name.rstrip("_") for field in google_repository().DESCRIPTOR.fields}
    assert fields == ours | others
