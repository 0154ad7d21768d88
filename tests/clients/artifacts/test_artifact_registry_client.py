"""google-cloud-artifact-registry, unchanged, against the emulator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from google.api_core import exceptions
from google.cloud import artifactregistry_v1 as api
from google.iam.v1 import iam_policy_pb2, policy_pb2
from google.protobuf import duration_pb2, field_mask_pb2

from support.emulated.emulator import running
from support.emulated.registries.artifacts import HOST, PARENT, client, push
from vertex_emulator.daemon.daemon import Daemon

NAME = f"{PARENT}/repositories/images"
IMAGE = f"{HOST}/local/images/team/trainer"
PACKAGE = f"{NAME}/packages/team%2Ftrainer"


@pytest.fixture
def emulator(tmp_path: Any) -> Iterator[Daemon]:
    with running(tmp_path / "data") as daemon:
        yield daemon


@pytest.fixture
def registry(emulator: Daemon) -> Any:
    """Return the client, with a repository `images`."""
    found = client(emulator)
    found.create_repository(
        parent=PARENT, repository_id="images", repository=api.Repository(format_="DOCKER")
    ).result(timeout=10)
    return found


def mask(*paths: str) -> field_mask_pb2.FieldMask:
    return field_mask_pb2.FieldMask(paths=paths)


def test_creating_is_an_operation_with_the_repository(emulator: Daemon) -> None:
    wanted = api.Repository(format_="DOCKER", description="d", labels={"a": "b"})
    operation = client(emulator).create_repository(parent=PARENT, repository_id="r", repository=wanted)
    assert operation.result(timeout=10).name == f"{PARENT}/repositories/r"
    assert isinstance(operation.metadata, api.OperationMetadata)


def test_creating_twice(registry: Any) -> None:
    with pytest.raises(exceptions.Conflict):
        registry.create_repository(
            parent=PARENT, repository_id="images", repository=api.Repository(format_="DOCKER")
        )


def test_getting_what_is_not_there(registry: Any) -> None:
    with pytest.raises(exceptions.NotFound):
        registry.get_repository(name=f"{PARENT}/repositories/none")


def test_what_is_wrong_is_named(registry: Any) -> None:
    with pytest.raises(exceptions.BadRequest, match="format"):
        registry.create_repository(parent=PARENT, repository_id="r", repository=api.Repository())


def test_a_virtual_repository_is_refused_by_name(registry: Any) -> None:
    with pytest.raises(exceptions.BadRequest, match="VIRTUAL_REPOSITORY"):
        registry.create_repository(
            parent=PARENT,
            repository_id="r",
            repository=api.Repository(format_="DOCKER", mode="VIRTUAL_REPOSITORY"),
        )


def test_an_update(registry: Any) -> None:
    policy = api.CleanupPolicy(
        id="old",
        action="DELETE",
        condition=api.CleanupPolicyCondition(
            tag_state="UNTAGGED", older_than=duration_pb2.Duration(seconds=3600)
        ),
    )
    docker = api.Repository.DockerRepositoryConfig(immutable_tags=True)
    wanted = api.Repository(name=NAME, cleanup_policies={"old": policy}, docker_config=docker)
    paths = mask("cleanup_policies", "docker_config.immutable_tags")
    found = registry.update_repository(repository=wanted, update_mask=paths)
    assert found.cleanup_policies["old"] == policy
    assert found.docker_config.immutable_tags


def test_listing_repositories(registry: Any) -> None:
    assert [each.name for each in registry.list_repositories(parent=PARENT)] == [NAME]


def test_deleting_a_repository(registry: Any) -> None:
    registry.delete_repository(name=NAME).result(timeout=10)
    assert list(registry.list_repositories(parent=PARENT)) == []


def test_images_are_found_by_every_page(emulator: Daemon, registry: Any) -> None:
    pushed = {push(emulator, IMAGE, layer=bytes([number])).digest for number in range(5)}
    request = api.ListDockerImagesRequest(parent=NAME, page_size=2)
    assert {each.uri for each in registry.list_docker_images(request)} == {
        f"{IMAGE}@{digest}" for digest in pushed
    }


def test_an_image_by_its_name(emulator: Daemon, registry: Any) -> None:
    pushed = push(emulator, IMAGE, "v1")
    found = registry.get_docker_image(name=f"{NAME}/dockerImages/team%2Ftrainer@{pushed.digest}")
    assert (found.uri, list(found.tags)) == (f"{IMAGE}@{pushed.digest}", ["v1"])


def test_versions_in_full(emulator: Daemon, registry: Any) -> None:
    pushed = push(emulator, IMAGE, "v1")
    (found,) = registry.list_versions(api.ListVersionsRequest(parent=PACKAGE, view="FULL"))
    assert found.name == f"{PACKAGE}/versions/{pushed.digest}"
    assert [each.name for each in found.related_tags] == [f"{PACKAGE}/tags/v1"]
    assert found.metadata["imageSizeBytes"] == str(pushed.config_size + pushed.layer_size)


def test_a_tag_resolves_to_a_digest(emulator: Daemon, registry: Any) -> None:
    pushed = push(emulator, IMAGE, "v1")
    assert registry.get_tag(api.GetTagRequest(name=f"{PACKAGE}/tags/v1")).version.endswith(pushed.digest)


@pytest.mark.parity("Artifact Registry: repositories, packages, versions, tags")
def test_tags_are_made_moved_and_deleted(emulator: Daemon, registry: Any) -> None:
    digests = [push(emulator, IMAGE, layer=bytes([number])).digest for number in range(2)]
    first, second = (f"{PACKAGE}/versions/{digest}" for digest in digests)
    registry.create_tag(parent=PACKAGE, tag=api.Tag(version=first), tag_id="v1")
    registry.update_tag(tag=api.Tag(name=f"{PACKAGE}/tags/v1", version=second), update_mask=mask("version"))
    (found,) = registry.list_tags(api.ListTagsRequest(parent=PACKAGE, filter=f'version="{second}"'))
    assert found.name == f"{PACKAGE}/tags/v1"
    registry.delete_tag(api.DeleteTagRequest(name=found.name))
    assert list(registry.list_tags(api.ListTagsRequest(parent=PACKAGE))) == []


def test_deleting_a_tagged_version(emulator: Daemon, registry: Any) -> None:
    pushed = push(emulator, IMAGE, "v1")
    name = f"{PACKAGE}/versions/{pushed.digest}"
    with pytest.raises(exceptions.BadRequest, match="has tags"):
        registry.delete_version(name=name)
    registry.delete_version(api.DeleteVersionRequest(name=name, force=True)).result(timeout=10)
    assert list(registry.list_packages(parent=NAME)) == []


def test_deleting_versions_in_a_batch(emulator: Daemon, registry: Any) -> None:
    names = [f"{PACKAGE}/versions/{push(emulator, IMAGE, layer=bytes([n])).digest}" for n in range(3)]
    operation = registry.batch_delete_versions(parent=PACKAGE, names=[*names, f"{PACKAGE}/versions/none"])
    operation.result(timeout=10)
    assert list(operation.metadata.failed_versions) == [f"{PACKAGE}/versions/none"]
    assert list(registry.list_packages(parent=NAME)) == []


def test_files(emulator: Daemon, registry: Any) -> None:
    pushed = push(emulator, IMAGE, "v1")
    found = {each.name.rpartition("/")[2]: each.size_bytes for each in registry.list_files(parent=NAME)}
    assert (len(found), found[pushed.digest]) == (3, len(pushed.manifest))


def test_iam_policies(registry: Any) -> None:
    binding = policy_pb2.Binding(role="roles/artifactregistry.reader", members=["allUsers"])
    policy = policy_pb2.Policy(bindings=[binding])
    made = registry.set_iam_policy(iam_policy_pb2.SetIamPolicyRequest(resource=NAME, policy=policy))
    assert list(made.bindings) == [binding]
    assert registry.get_iam_policy(iam_policy_pb2.GetIamPolicyRequest(resource=NAME)) == made


def test_locations(registry: Any) -> None:
    found = registry.list_locations({"name": "projects/local"})
    assert {"us", "us-central1", "europe-west4"} <= {each.location_id for each in found.locations}


def test_settings(registry: Any) -> None:
    wanted = api.ProjectSettings(name="projects/local/projectSettings", pull_percent=7)
    registry.update_project_settings(project_settings=wanted, update_mask=mask("pull_percent"))
    assert registry.get_project_settings(name=wanted.name).pull_percent == 7
