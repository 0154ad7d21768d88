"""The projects that Resource Manager lists, in both of its versions."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

import pytest

from support.emulated.emulator import ask, running, storage_client
from support.emulated.job_emulator import job, pool
from support.emulated.registries import artifacts
from vertex_emulator.daemon.daemon import Daemon
from vertex_emulator.kernel.projects import project_number

POLICY = {"policy": {"bindings": [{"role": "roles/viewer", "members": ["user:a@example.com"]}]}}


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running(tmp_path_factory.mktemp("projects")) as found:
        yield found


@pytest.fixture
def emulator(daemon: Daemon) -> Iterator[Daemon]:
    yield daemon
    assert ask(daemon, "POST", "/_local/reset", {}).status == 200


def use(emulator: Daemon, *projects: str) -> None:
    """Make projects known, by their policies."""
    for each in projects:
        assert ask(emulator, "POST", f"/v1/projects/{each}:setIamPolicy", POLICY).status == 200


def first(emulator: Daemon, query: str = "") -> list[str]:
    """Return the ids of the projects that v1 lists."""
    answer = ask(emulator, "GET", f"/v1/projects?filter={quote(query)}")
    assert answer.status == 200, answer.body
    return [each["projectId"] for each in answer.json().get("projects", [])]


def third(emulator: Daemon, query: str = "") -> list[str]:
    """Return the ids of the projects that v3 finds."""
    answer = ask(emulator, "GET", f"/v3/projects:search?query={quote(query)}")
    assert answer.status == 200, answer.body
    return [each["projectId"] for each in answer.json().get("projects", [])]


@pytest.mark.parity(
    "Quotas, permissions and services of a project: a list of projects",
    own_way="those in which something was created or changed; there are no folders and organizations",
)
def test_the_projects_in_which_something_was_made(emulator: Daemon) -> None:
    assert (first(emulator), third(emulator)) == ([], [])
    assert ask(emulator, "PUT", "/_local/start-delay", {"seconds": 3600}).status == 200
    path = "/v1/projects/of-jobs/locations/us-central1/customJobs"
    assert ask(emulator, "POST", path, job(pool("pass"))).status == 200
    with storage_client(emulator.storage_url) as client:
        client.create_bucket("digits", location="us-central1", project="of-buckets")
    artifacts.client(emulator).create_repository(
        parent="projects/of-images/locations/us-central1",
        repository_id="images",
        repository={"format_": "DOCKER"},
    ).result(timeout=30)
    boards = "/v1/projects/of-tensorboards/locations/us-central1/tensorboards"
    assert ask(emulator, "POST", boards, {"displayName": "digits"}).status == 200
    ask(emulator, "POST", "/v1/projects/of-accounts/serviceAccounts", {"accountId": "trainer"}).ok()
    use(emulator, "of-policies")
    service = {"service": "logging.googleapis.com", "project": "of-services", "enabled": False}
    assert ask(emulator, "PUT", "/_local/services", service).status == 200
    everywhere = {"service": "cloudscheduler.googleapis.com", "enabled": True}
    assert ask(emulator, "PUT", "/_local/services", everywhere).status == 200
    kinds = ("accounts", "buckets", "images", "jobs", "policies", "services", "tensorboards")
    assert first(emulator) == third(emulator) == [f"of-{kind}" for kind in kinds]
    by_number = ask(emulator, "GET", f"/v3/projects/{project_number('of-buckets')}")
    assert by_number.json()["projectId"] == "of-buckets"


def test_a_project(emulator: Daemon) -> None:
    use(emulator, "local")
    number = project_number("local")
    (old,) = ask(emulator, "GET", "/v1/projects").json()["projects"]
    assert old == ask(emulator, "GET", "/v1/projects/local").json()
    (new,) = ask(emulator, "GET", "/v3/projects:search").json()["projects"]
    assert new == ask(emulator, "GET", "/v3/projects/local").json()
    assert (old["projectNumber"], new["name"]) == (number, f"projects/{number}")


@pytest.mark.parity("Quotas, permissions and services of a project: a list of projects")
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("lifecycleState:ACTIVE", ["digits", "letters", "local"]),
        ("lifecycleState:ACTIVE AND (id:l*)", ["letters", "local"]),
        ("state:DELETE_REQUESTED", []),
        ("projectId=local", ["local"]),
        ("id:LOCAL OR name:digits", ["digits", "local"]),
        ("NOT displayName:l*", ["digits"]),
        ("name != local", ["digits", "letters"]),
        (f"projectNumber:{project_number('local')}", ["local"]),
        ("name:[l]*", []),
        ("labels.team:*", []),
        ("parent:folders/1", []),
    ],
)
def test_filters(emulator: Daemon, query: str, found: list[str]) -> None:
    use(emulator, "letters", "local", "digits")
    assert first(emulator, query) == third(emulator, query) == found


@pytest.mark.parametrize(
    ("query", "words"),
    [("colour:red", "no field 'colour'"), ("id > 3", "cannot be compared with >"), ("(id:a", "not closed")],
)
def test_filters_that_cannot_be(emulator: Daemon, query: str, words: str) -> None:
    for path in ("/v1/projects?filter=", "/v3/projects:search?query="):
        answer = ask(emulator, "GET", f"{path}{quote(query)}")
        assert (answer.status, words in answer.message) == (400, True), answer.message


def test_pages(emulator: Daemon) -> None:
    use(emulator, "a", "b", "c")
    for path, names in (("/v1/projects?", "filter"), ("/v3/projects:search?", "query")):
        page = ask(emulator, "GET", f"{path}pageSize=2").json()
        token = page["nextPageToken"]
        assert [each["projectId"] for each in page["projects"]] == ["a", "b"]
        rest = ask(emulator, "GET", f"{path}pageSize=2&pageToken={token}").json()
        assert [each["projectId"] for each in rest["projects"]] == ["c"]
        assert "nextPageToken" not in rest
        assert ask(emulator, "GET", f"{path}pageToken={token}&{names}=id:a").status == 400
        assert ask(emulator, "GET", f"{path}pageSize=-1").status == 400
    assert ask(emulator, "GET", "/v1/projects?pageSize=many").status == 400


def test_a_project_that_the_caller_may_not_get_is_not_listed(emulator: Daemon) -> None:
    use(emulator, "local", "other")
    denial = {"permission": "resourcemanager.projects.get", "resource": "projects/other"}
    assert ask(emulator, "POST", "/_local/denials", denial).status == 200
    assert first(emulator) == third(emulator) == ["local"]


@pytest.mark.parity("Quotas, permissions and services of a project: a list of projects")
def test_there_are_no_folders(emulator: Daemon) -> None:
    use(emulator, "local")
    refused = ask(emulator, "GET", "/v3/projects?parent=folders/1")
    assert (refused.status, "no folders/1" in refused.message) == (403, True)
    wrong = ask(emulator, "GET", "/v3/projects?parent=local")
    assert (wrong.status, "Use folders/ID or organizations/ID" in wrong.message) == (400, True)
