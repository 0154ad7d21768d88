"""Service Usage over REST: services are enabled and disabled, for one project or each, over a restart."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.emulated.emulator import Answer, ask, running
from vertex_emulator.daemon.daemon import Daemon
from vertex_emulator.kernel.projects import project_number

SERVICES = "/v1/projects/local/services"
VERTEX = "aiplatform.googleapis.com"
JOBS = "/v1/projects/{}/locations/us-central1/customJobs"


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running(tmp_path_factory.mktemp("services")) as found:
        yield found


@pytest.fixture
def emulator(daemon: Daemon) -> Iterator[Daemon]:
    yield daemon
    assert ask(daemon, "DELETE", "/_local/services").status == 200


def done(answer: Answer) -> Any:
    assert answer.status == 200, answer.body
    return answer.json()


def state(emulator: Daemon, service: str, project: str = "local") -> str:
    return str(done(ask(emulator, "GET", f"/v1/projects/{project}/services/{service}"))["state"])


@pytest.mark.parity(
    "Quotas, permissions and services of a project: services of a project",
    own_way="the same methods; the services of the emulator are enabled, others disabled",
)
def test_services_of_the_emulator_are_enabled(emulator: Daemon) -> None:
    number = project_number("local")
    assert done(ask(emulator, "GET", f"{SERVICES}/{VERTEX}")) == {
        "name": f"projects/{number}/services/{VERTEX}",
        "parent": f"projects/{number}",
        "config": {"name": VERTEX},
        "state": "ENABLED",
    }
    assert state(emulator, "bigquery.googleapis.com") == "DISABLED"
    enabled = done(ask(emulator, "GET", f"{SERVICES}?filter=state:ENABLED&pageSize=200"))["services"]
    assert VERTEX in [each["config"]["name"] for each in enabled]
    assert done(ask(emulator, "GET", f"{SERVICES}?filter=state:DISABLED")) == {}


def test_pages_have_each_service_once(emulator: Daemon) -> None:
    whole = done(ask(emulator, "GET", SERVICES))["services"]
    first = done(ask(emulator, "GET", f"{SERVICES}?pageSize=5"))
    rest = done(ask(emulator, "GET", f"{SERVICES}?pageSize=200&pageToken={first['nextPageToken']}"))
    assert first["services"] + rest["services"] == whole


def test_many_are_read_at_once(emulator: Daemon) -> None:
    names = "&".join(f"names=projects/local/services/{name}.googleapis.com" for name in ("storage", "run"))
    found = done(ask(emulator, "GET", f"{SERVICES}:batchGet?{names}"))["services"]
    assert [(each["config"]["name"], each["state"]) for each in found] == [
        ("storage.googleapis.com", "ENABLED"),
        ("run.googleapis.com", "DISABLED"),
    ]


@pytest.mark.parity("Quotas, permissions and services of a project: services of a project")
def test_a_disabled_service_answers_nothing_in_its_project(emulator: Daemon) -> None:
    operation = done(ask(emulator, "POST", f"{SERVICES}/{VERTEX}:disable", {}))
    assert operation["done"] is True
    assert operation["response"]["@type"].endswith("google.api.serviceusage.v1.DisableServiceResponse")
    assert operation["response"]["service"]["state"] == "DISABLED"
    refused = ask(emulator, "GET", JOBS.format("local"))
    error = refused.json()["error"]
    assert (refused.status, error["status"]) == (403, "PERMISSION_DENIED")
    assert "has not been used in project" in error["message"]
    (info,) = error["details"]
    assert (info["reason"], info["metadata"]["service"]) == ("SERVICE_DISABLED", VERTEX)
    assert info["metadata"]["consumer"] == f"projects/{project_number('local')}"
    assert ask(emulator, "GET", JOBS.format("other")).status == 200
    assert ask(emulator, "GET", JOBS.format(project_number("local"))).status == 403
    again = done(ask(emulator, "POST", f"{SERVICES}/{VERTEX}:disable", {}))
    assert again["name"] == "operations/noop.DONE_OPERATION"
    body = {"serviceIds": [VERTEX, "bigquery.googleapis.com"]}
    enabled = done(ask(emulator, "POST", f"{SERVICES}:batchEnable", body))["response"]["services"]
    assert [each["state"] for each in enabled] == ["ENABLED", "ENABLED"]
    assert ask(emulator, "GET", JOBS.format("local")).status == 200


def test_a_setting_for_each_project_survives_a_restart(tmp_path: Path) -> None:
    body = {"service": "aiplatform", "enabled": False}
    with running(tmp_path / "data") as first:
        assert done(ask(first, "PUT", "/_local/services", body))["service"] == VERTEX
        assert state(first, VERTEX, "any") == "DISABLED"
        done(ask(first, "POST", f"/v1/projects/mine/services/{VERTEX}:enable", {}))
    with running(tmp_path / "data") as second:
        assert done(ask(second, "GET", "/_local/services"))["services"] == [
            {"service": VERTEX, "enabled": False, "project": None},
            {"service": VERTEX, "enabled": True, "project": "mine"},
        ]
        assert ask(second, "GET", JOBS.format("local")).status == 403
        assert ask(second, "GET", JOBS.format("mine")).status == 200
        assert done(ask(second, "POST", "/_local/reset", {})) == {}
        assert done(ask(second, "GET", "/_local/services")) == {"services": []}
        assert ask(second, "GET", JOBS.format("local")).status == 200


def test_a_call_without_a_project_works_once_the_service_is_enabled_in_one(emulator: Daemon) -> None:
    account = "/v1/projects/-/serviceAccounts/trainer@local.iam.gserviceaccount.com"
    for service, path in (("storage", "/storage/v1/b?project=local"), ("iam", account)):
        done(ask(emulator, "PUT", "/_local/services", {"service": service, "enabled": False}))
        assert ask(emulator, "GET", path).status == 403
        done(ask(emulator, "POST", f"{SERVICES}/{service}.googleapis.com:enable", {}))
        assert ask(emulator, "GET", path).status == 200


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "says"),
    [
        ("GET", f"{SERVICES}/nothing", None, 403, "Not found or permission denied for service(s): nothing"),
        ("GET", f"{SERVICES}?filter=state:ON", None, 400, "Use state:ENABLED"),
        ("GET", f"{SERVICES}?pageSize=-1", None, 400, "The page size is -1"),
        ("GET", "/v1/folders/1/services", None, 400, "of projects only"),
        ("GET", f"{SERVICES}:batchGet", None, 400, "names must have 1 to 30"),
        ("PUT", "/_local/services", {"service": "No Name", "enabled": True}, 400, "service must be a name"),
        (
            "PUT",
            "/_local/services",
            {"service": "aiplatfrom", "enabled": False},
            400,
            f"Did you mean {VERTEX!r}?",
        ),
        ("PUT", "/_local/services", {"service": "storage"}, 400, "enabled must be"),
        ("PUT", "/_local/services", {"service": "storage", "on": True}, 400, "'on' is unknown"),
    ],
)
def test_what_cannot_be_asked(
    emulator: Daemon, method: str, path: str, body: Any, status: int, says: str
) -> None:
    answer = ask(emulator, method, path, body)
    assert (answer.status, says in answer.message) == (status, True), answer.body
