"""Denials: what they cover, how resources are written, and the emulator's own calls."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.emulated.emulator import ask, running
from vertex_emulator.daemon.daemon import Daemon
from vertex_emulator.kernel.projects import project_number
from vertex_emulator.server.permissions.calls import PERMISSION_OF, service_of
from vertex_emulator.server.permissions.denials import DenialError, canonical, parse_denial


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("gs://digits", "projects/_/buckets/digits"),
        ("gs://digits/", "projects/_/buckets/digits"),
        ("//storage.googleapis.com/projects/_/buckets/digits", "projects/_/buckets/digits"),
        ("projects/local", "projects/local"),
        (
            "trainer@local.iam.gserviceaccount.com",
            "projects/-/serviceAccounts/trainer@local.iam.gserviceaccount.com",
        ),
        ("projects/p/serviceAccounts/a@b.c", "projects/-/serviceAccounts/a@b.c"),
        (
            "us-central1-docker.pkg.dev/local/images",
            "projects/local/locations/us-central1/repositories/images",
        ),
    ],
)
def test_resources_are_written_in_many_ways(given: str, found: str) -> None:
    assert canonical(given) == found


@pytest.mark.parametrize("given", ["digits", "gs://", "projects/", "projects/a b", "a@b@c"])
def test_what_is_no_resource(given: str) -> None:
    with pytest.raises(DenialError, match="is not a resource"):
        canonical(given)


@pytest.mark.parametrize(
    ("denial", "permission", "resource", "covered"),
    [
        (("storage.objects.get", ""), "storage.objects.get", "projects/_/buckets/bbb", True),
        (("storage.objects.get", ""), "storage.objects.getter", "", False),
        (("storage.objects.*", "gs://bbb"), "storage.objects.get", "projects/_/buckets/bbb", True),
        (("storage.objects.*", "gs://bbb"), "storage.objects.get", "projects/_/buckets/bbbb", False),
        (("storage.objects.*", "gs://bbb"), "storage.objects.get", "", False),
        (("*", "projects/p"), "aiplatform.models.get", "projects/p/locations/us-central1", True),
        (("*", "projects/p"), "aiplatform.models.get", "projects/pp", False),
    ],
)
def test_what_a_denial_covers(denial: tuple[str, str], permission: str, resource: str, covered: bool) -> None:
    assert parse_denial(*denial).covers(permission, resource) is covered


def test_the_id_and_the_number_of_a_project_mean_the_same() -> None:
    denial = parse_denial("storage.objects.get", "projects/local")
    assert denial.covers("storage.objects.get", f"projects/{project_number('local')}")


def test_every_call_with_a_permission_has_a_service() -> None:
    for call_name, permission in PERMISSION_OF.items():
        assert service_of(call_name) is not None, call_name
        assert parse_denial(permission).permission == permission


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running(tmp_path_factory.mktemp("denials")) as found:
        yield found


@pytest.fixture
def emulator(daemon: Daemon) -> Iterator[Daemon]:
    yield daemon
    assert ask(daemon, "DELETE", "/_local/denials").status == 200


def test_denials_are_kept_until_they_are_removed(tmp_path: Path) -> None:
    with running(tmp_path / "data") as first:
        for resource in (None, "gs://digits"):
            body = {"permission": "storage.objects.create", "resource": resource}
            for _ in range(2):
                assert ask(first, "POST", "/_local/denials", body).status == 200
        listed = ask(first, "GET", "/_local/denials").json()
        assert listed["denials"] == [
            {"permission": "storage.objects.create", "resource": None, "enforced": True},
            {
                "permission": "storage.objects.create",
                "resource": "projects/_/buckets/digits",
                "enforced": True,
            },
        ]
    with running(tmp_path / "data") as second:
        assert ask(second, "GET", "/_local/denials").json() == listed
        assert ask(second, "GET", "/_local/info").json()["denials"] == listed["denials"]
        assert ask(second, "DELETE", "/_local/denials?resource=gs://digits").json() == {"removed": 1}
        assert ask(second, "DELETE", "/_local/denials?permission=storage.objects.get").json() == {
            "removed": 0
        }
        assert ask(second, "POST", "/_local/reset", {}).status == 200
        assert ask(second, "GET", "/_local/denials").json() == {"denials": []}


@pytest.mark.parametrize(
    ("method", "path", "body", "says"),
    [
        (
            "POST",
            "",
            {"permission": "aiplatform.customJob.create"},
            "Did you mean 'aiplatform.customJobs.create'?",
        ),
        ("POST", "", {"permission": "storage.object.*"}, "Did you mean"),
        ("POST", "", {"permission": "storage"}, "is not a permission"),
        ("POST", "", {"permission": "storage.*.get"}, "is not a permission"),
        ("POST", "", {}, "None is not a permission"),
        ("POST", "", {"permission": "storage.objects.get", "resource": "digits"}, "is not a resource"),
        ("POST", "", {"permission": "storage.objects.get", "resource": 3}, "must be a text"),
        ("POST", "", {"permission": "storage.objects.get", "on": "x"}, "'on' is unknown"),
        ("DELETE", "?resource=", None, "is not a resource"),
        ("DELETE", "?permission=", None, "is not a permission"),
    ],
)
def test_what_is_no_denial(emulator: Daemon, method: str, path: str, body: Any, says: str) -> None:
    assert ask(emulator, "POST", "/_local/denials", {"permission": "storage.objects.list"}).status == 200
    answer = ask(emulator, method, f"/_local/denials{path}", body)
    assert (answer.status, says in answer.message) == (400, True), answer.body
    assert len(ask(emulator, "GET", "/_local/denials").json()["denials"]) == 1


def test_a_permission_of_another_service_is_for_checks_only(emulator: Daemon) -> None:
    answer = ask(emulator, "POST", "/_local/denials", {"permission": "bigquery.tables.get"})
    assert answer.json()["enforced"] is False
