"""Many clients at once: every response is one of the service's, and no change is left incomplete."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.emulated.emulator import ask, running
from support.emulated.registries.artifacts import HOST, PARENT, create, push, push_blob, push_manifest
from support.properties import examples
from vertex_emulator.daemon.daemon import Daemon

CLIENTS = 16
PATHS = (
    "/packages",
    "/packages/{}",
    "/packages/{}/versions",
    "/packages/{}/versions/{}",
    "/packages/{}/versions:batchDelete",
    "/packages/{}/tags",
    "/packages/{}/tags/{}",
    "/files/{}",
    "/dockerImages",
    "/dockerImages/{}",
    ":setIamPolicy",
    ":getIamPolicy",
)


def at_once(work: Callable[[int], Any]) -> list[Any]:
    with ThreadPoolExecutor(CLIENTS) as pool:
        return list(pool.map(work, range(CLIENTS)))


def test_one_of_many_creates_a_repository(emulator: Daemon) -> None:
    path = f"/v1/{PARENT}/repositories?repositoryId=contested"
    found = at_once(lambda _: ask(emulator, "POST", path, {"format": "DOCKER"}).status)
    assert sorted(found) == [200, *[409] * (CLIENTS - 1)]


def test_one_of_many_deletes_a_repository(emulator: Daemon, repository: str) -> None:
    found = at_once(lambda _: ask(emulator, "DELETE", f"/v1/{PARENT}/repositories/{repository}").status)
    assert sorted(found) == [200, *[404] * (CLIENTS - 1)]


def test_one_of_many_creates_a_tag(emulator: Daemon, repository: str) -> None:
    pushed = push(emulator, f"{HOST}/local/{repository}/trainer")
    package = f"{PARENT}/repositories/{repository}/packages/trainer"
    body = {"version": f"{package}/versions/{pushed.digest}"}
    found = at_once(lambda _: ask(emulator, "POST", f"/v1/{package}/tags?tagId=v1", body).status)
    assert sorted(found) == [200, *[409] * (CLIENTS - 1)]


def test_an_immutable_tag_has_one_winner(emulator: Daemon, make: Callable[..., str]) -> None:
    image = f"{HOST}/local/{make(dockerConfig={'immutableTags': True})}/trainer"
    pushed = [push(emulator, image, layer=bytes([number])) for number in range(CLIENTS)]
    found = at_once(lambda number: push_manifest(emulator, image, "v1", pushed[number].manifest).status)
    assert sorted(found) == [201, *[400] * (CLIENTS - 1)]


def test_changes_of_different_fields_are_all_kept(emulator: Daemon, repository: str) -> None:
    path = f"/v1/{PARENT}/repositories/{repository}"
    fields = {"description": "d", "labels": {"a": "b"}, "dockerConfig": {"immutableTags": True}}
    names = list(fields)

    def change(number: int) -> int:
        name = names[number % len(names)]
        return ask(emulator, "PATCH", f"{path}?updateMask={name}", {name: fields[name]}).status

    assert set(at_once(change)) == {200}
    found = ask(emulator, "GET", path).json()
    assert {name: found.get(name) for name in fields} == fields


def test_pushes_and_deletions(emulator: Daemon, repository: str) -> None:
    """Check that, in any order, a repository either exists with its images or does not exist."""
    image = f"{HOST}/local/{repository}/trainer"
    path = f"/v1/{PARENT}/repositories/{repository}"
    pushed = push(emulator, image)

    def work(number: int) -> int:
        match number % 4:
            case 0:
                return ask(emulator, "DELETE", path).status
            case 1:
                create = f"/v1/{PARENT}/repositories?repositoryId={repository}"
                return ask(emulator, "POST", create, {"format": "DOCKER"}).status
            case 2:
                return push_blob(emulator, image, b"blob").status
        return push_manifest(emulator, image, "v1", pushed.manifest).status

    found = at_once(work)
    assert set(found) <= {200, 201, 404, 409}
    ask(emulator, "DELETE", path)
    ask(emulator, "POST", f"/v1/{PARENT}/repositories?repositoryId={repository}", {"format": "DOCKER"})
    assert ask(emulator, "GET", f"{path}/dockerImages").json() == {}


def test_a_manifest_for_a_repository_deleted_during_the_push(
    emulator: Daemon, repository: str, request: pytest.FixtureRequest
) -> None:
    """Delete the repository between the API's check and the write of the manifest."""
    image = f"{HOST}/local/{repository}/trainer"
    pushed = push(emulator, image)
    registry = emulator.registry.registry

    def delete_first(step: str) -> None:
        assert step == "put manifest"
        assert ask(emulator, "DELETE", f"/v1/{PARENT}/repositories/{repository}").status == 200
        with registry.store.transaction():  # another push sends the blobs again
            for blob in registry.store.blobs():
                registry.store.link(image, blob, at=0)

    registry.store.on_step = delete_first
    request.addfinalizer(lambda: setattr(registry.store, "on_step", None))
    answer = push_manifest(emulator, image, "v1", pushed.manifest)
    assert (answer.status, answer.json()["errors"][0]["code"]) == (404, "NAME_UNKNOWN")
    assert registry.store.manifests(image) == []


@settings(
    max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.sampled_from(["GET", "POST", "PATCH", "DELETE"]),
    st.sampled_from(PATHS),
    st.lists(st.text(alphabet="a/%:@*{}\x7fé .", min_size=1, max_size=6), min_size=2, max_size=2),
    st.sampled_from(["", "updateMask", "filter", "orderBy", "pageToken", "view", "pageSize", "force"]),
    st.text(max_size=10),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["name", "version", "policy", "bindings", "labels", "names", "cleanupPolicies"]
                ),
                inner,
                max_size=3,
            )
        ),
        max_leaves=5,
    ),
)
def test_a_malformed_request_gets_an_answer(
    emulator: Daemon, method: str, path: str, words: list[str], name: str, value: str, body: Any
) -> None:
    create = f"/v1/{PARENT}/repositories?repositoryId=fuzzed"
    if ask(emulator, "POST", create, {"format": "DOCKER"}).status == 200:
        push(emulator, f"{HOST}/local/fuzzed/a", "a")
    target = path.format(*(quote(each, safe="") for each in words))
    query = f"?{name}={quote(value)}" if name else ""
    sent = body if method in ("POST", "PATCH") else None
    answer = ask(emulator, method, f"/v1/{PARENT}/repositories/fuzzed{target}{query}", sent)
    assert answer.status < 500
    if answer.status >= 400:
        assert answer.json()["error"]["message"]


def test_a_deleted_repository_is_off_the_disk_when_the_emulator_has_stopped(tmp_path: Path) -> None:
    with running(tmp_path) as daemon:
        create(daemon, "short-lived")
        push(daemon, f"{HOST}/local/short-lived/trainer", layer=b"x" * 100_000)
        ask(daemon, "DELETE", f"/v1/{PARENT}/repositories/short-lived")
    assert [path for path in daemon.folder.registry.rglob("*") if path.is_file()] == []
