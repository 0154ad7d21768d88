"""Tags, repositories and referrers: "Content Discovery" of the OCI distribution specification 1.1."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest

from support.emulated.emulator import Answer, ask
from support.emulated.registries.registry import (
    DOCKER_MANIFEST,
    OCI_CONFIG,
    OCI_INDEX,
    OCI_MANIFEST,
    RegistryClient,
    codes,
    descriptor,
    index,
    manifest,
    sha256,
    sha512,
)
from vertex_emulator.daemon.daemon import Daemon
from vertex_emulator.services.container_registry import manifests_api

TAGS = ["2", "a", "B", "c-1", "D.0"]
"""Sorted in the specification's order, regardless of case."""


@pytest.fixture
def tagged(registry: RegistryClient) -> RegistryClient:
    for tag in reversed(TAGS):
        registry.push_image(tag)
    return registry


def tags(answer: Answer) -> Any:
    assert answer.status == 200, answer
    return answer.json()["tags"]


@pytest.mark.parity("Artifact Registry: the registry of images")
def test_all_tags(tagged: RegistryClient) -> None:
    assert tagged.ask("GET", "tags/list").json() == {"name": tagged.name, "tags": TAGS}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        pytest.param("n=2", TAGS[:2], id="the first"),
        pytest.param("n=5", TAGS, id="just all"),
        pytest.param("n=1000000000000", TAGS, id="more than there are"),
        pytest.param("n=0", [], id="none"),
        pytest.param("last=a", TAGS[2:], id="after one"),
        pytest.param("last=A", TAGS[1:], id="after one that is not there"),
        pytest.param("n=2&last=B", TAGS[3:], id="some after one"),
        pytest.param("n=1&last=a", TAGS[2:3], id="the next"),
        pytest.param("last=zzz", [], id="after the last"),
    ],
)
def test_some_tags(tagged: RegistryClient, query: str, expected: list[str]) -> None:
    assert tags(tagged.ask("GET", f"tags/list?{query}")) == expected


def next_of(answer: Answer) -> str:
    match = re.fullmatch(r'<(.+)>; rel="next"', answer.headers["Link"])
    assert match is not None
    return match[1]


def test_tags_page_by_page(tagged: RegistryClient) -> None:
    found, path = [], "tags/list?n=2"
    while True:
        answer = tagged.ask("GET", path)
        found.append(tags(answer))
        if "Link" not in answer.headers:
            break
        path = next_of(answer)
    assert found == [TAGS[:2], TAGS[2:4], TAGS[4:]]


@pytest.mark.parametrize("query", ["n=0", "n=5", "", "last=zzz"])
def test_the_last_page_has_no_link(tagged: RegistryClient, query: str) -> None:
    assert "Link" not in tagged.ask("GET", f"tags/list?{query}").headers


@pytest.mark.parametrize("number", ["-1", "x", "1.5", "9" * 40, "%00"])
def test_an_invalid_page_size(tagged: RegistryClient, number: str) -> None:
    answer = tagged.ask("GET", f"tags/list?n={number}")
    assert (answer.status, codes(answer)) == (400, ["PAGINATION_NUMBER_INVALID"])


def test_the_tags_of_an_unknown_repository(registry: RegistryClient) -> None:
    answer = registry.ask("GET", "tags/list")
    assert (answer.status, codes(answer)) == (404, ["NAME_UNKNOWN"])


def test_a_repository_without_tags(registry: RegistryClient) -> None:
    registry.push_blob(b"something")
    assert tags(registry.ask("GET", "tags/list")) == []


def test_repositories_page_by_page(emulator: Daemon, registry: RegistryClient) -> None:
    names = [f"docker.io/listed/{letter}" for letter in "cab"]
    for name in names:
        registry.at(name).push_image("v1")
    answer = ask(emulator, "GET", "/v2/_catalog?n=2&last=docker.io/listed")
    assert answer.json() == {"repositories": sorted(names)[:2]}
    following = ask(emulator, "GET", next_of(answer)).json()["repositories"]
    assert following[0] == sorted(names)[2]


# Referrers


def referrers(registry: RegistryClient, subject: str, query: str = "") -> Answer:
    answer = registry.ask("GET", f"referrers/{subject}{query}")
    assert answer.status == 200, answer
    assert answer.headers["Content-Type"] == OCI_INDEX
    assert answer.json()["schemaVersion"] == 2
    assert answer.json()["mediaType"] == OCI_INDEX
    return answer


SUBJECT = descriptor(b"the subject, which was never pushed", OCI_MANIFEST)


@pytest.fixture
def referred(registry: RegistryClient) -> RegistryClient:
    registry.push_blob(b"{}")
    return registry


def test_no_referrers(registry: RegistryClient) -> None:
    assert referrers(registry, sha256(b"x")).json()["manifests"] == []


@pytest.mark.parametrize("algorithm", [sha256, sha512])
def test_referrers(referred: RegistryClient, algorithm: Any) -> None:
    subject = descriptor(b"it", OCI_MANIFEST, digest=algorithm(b"it"))
    content = manifest(subject=subject, artifactType="application/vnd.test", annotations={"a": "1"})
    referred.put_manifest(sha256(content), content)
    assert referrers(referred, subject["digest"]).json()["manifests"] == [
        {
            **descriptor(content, OCI_MANIFEST),
            "artifactType": "application/vnd.test",
            "annotations": {"a": "1"},
        }
    ]


@pytest.mark.parametrize("media_type", [OCI_MANIFEST, DOCKER_MANIFEST])
def test_the_artifact_type_defaults_to_the_type_of_the_config(
    referred: RegistryClient, media_type: str
) -> None:
    referred.put_manifest("v1", manifest(subject=SUBJECT, media_type=media_type), media_type)
    found = referrers(referred, SUBJECT["digest"]).json()["manifests"]
    assert [each["artifactType"] for each in found] == [OCI_CONFIG]


def test_an_index_without_an_artifact_type_has_none(referred: RegistryClient) -> None:
    referred.put_manifest("v1", index([], subject=SUBJECT), OCI_INDEX)
    assert "artifactType" not in referrers(referred, SUBJECT["digest"]).json()["manifests"][0]


def test_an_index_with_an_artifact_type(referred: RegistryClient) -> None:
    referred.put_manifest("v1", index([], subject=SUBJECT, artifactType="a/b"), OCI_INDEX)
    assert referrers(referred, SUBJECT["digest"]).json()["manifests"][0]["artifactType"] == "a/b"


def test_referrers_by_type(referred: RegistryClient) -> None:
    for kind in ("a/one", "a/two"):
        referred.put_manifest(kind[2:], manifest(subject=SUBJECT, artifactType=kind))
    answer = referrers(referred, SUBJECT["digest"], "?artifactType=a/two")
    assert answer.headers["OCI-Filters-Applied"] == "artifactType"
    assert [each["artifactType"] for each in answer.json()["manifests"]] == ["a/two"]


def test_without_a_filter_no_filter_is_reported(referred: RegistryClient) -> None:
    assert "OCI-Filters-Applied" not in referrers(referred, SUBJECT["digest"]).headers


def test_referrers_of_another_repository_do_not_count(referred: RegistryClient) -> None:
    other = referred.at("docker.io/tests/referrers-elsewhere")
    other.push_blob(b"{}")
    other.put_manifest("v1", manifest(subject=SUBJECT))
    assert referrers(referred, SUBJECT["digest"]).json()["manifests"] == []


def test_a_deleted_referrer_is_not_listed(referred: RegistryClient) -> None:
    content = manifest(subject=SUBJECT)
    referred.put_manifest("v1", content)
    referred.ask("DELETE", f"manifests/{sha256(content)}")
    assert referrers(referred, SUBJECT["digest"]).json()["manifests"] == []


def test_referrers_page_by_page(referred: RegistryClient) -> None:
    numbers = range(2 * manifests_api.MOST_REFERRERS + 1)
    contents = [manifest(subject=SUBJECT, artifactType="a/b", annotations={"n": str(n)}) for n in numbers]
    for content in contents:
        referred.put_manifest(sha256(content), content)
    found, path = [], f"referrers/{SUBJECT['digest']}?artifactType=a/b"
    while True:
        answer = referred.ask("GET", path)
        assert answer.headers["OCI-Filters-Applied"] == "artifactType"
        found.append([each["digest"] for each in answer.json()["manifests"]])
        if "Link" not in answer.headers:
            break
        path = next_of(answer)
    assert [len(page) for page in found] == [manifests_api.MOST_REFERRERS] * 2 + [1]
    assert sorted(itertools.chain(*found)) == sorted(sha256(content) for content in contents)
