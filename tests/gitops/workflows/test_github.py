"""The workflows of gitops/github, run by act against the emulator."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pulumi_vertex_training.cloud import rest
from pulumi_vertex_training.cloud.endpoint import Endpoint
from support.client.gitops import project
from support.client.gitops.act import ACCOUNT, PROVIDER, Ran, Runner
from support.client.gitops.github import REPOSITORY, GitHub, github
from support.client.gitops.project import Repository
from support.clients.tools import tool
from support.warm import warm_python
from vertex_emulator.client import launcher
from vertex_emulator.daemon import reset as emulator_reset

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]  # one fixture plays the whole story
MARKER = "<!-- vertex-training plan of . -->"
_PUSH = {"ref": "refs/heads/main"}
_STACK_FILES = "state/.pulumi/stacks/training"


def pull_request(action: str, *labels: str, head: str = REPOSITORY, **more: Any) -> dict[str, Any]:
    """Return the payload of an event of pull request 7."""
    return {
        "action": action,
        "number": 7,
        "pull_request": {
            "number": 7,
            "head": {"ref": "more-workers", "sha": "0123456789abcdef", "repo": {"full_name": head}},
            "base": {"ref": "main"},
            "labels": [{"name": label} for label in labels],
        },
        **more,
    }


@dataclass(frozen=True, kw_only=True)
class Story:
    """The runs in their order, what the site had after each, and the workers in the state of dev."""

    runs: dict[str, Ran]
    comments: dict[str, list[str]]
    issues: dict[str, list[dict[str, Any]]]
    workers: dict[str, int | None]
    stacks: dict[str, set[str]]
    logins: dict[str, list[str]]
    changes: dict[str, list[tuple[str, str]]]


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A repository, the site that has it, and act."""

    folder: Path
    repository: Repository
    site: GitHub
    act: Runner
    story: Story

    def run(self, name: str, workflow: str, event: str, payload: dict[str, Any]) -> Ran:
        before = len(self.site.changes())
        ran = self.act.run(workflow, event, payload, name=name)
        story = self.story
        story.runs[name] = ran
        story.comments[name] = self.site.bodies()
        story.issues[name] = [dict(one) for one in self.site.issues.values()]
        story.workers[name] = workers_of(self.folder / _STACK_FILES / "dev.json")
        story.stacks[name] = {file.stem for file in (self.folder / _STACK_FILES).glob("*.json")}
        story.logins[name] = self.act.logins(name)
        story.changes[name] = self.site.changes()[before:]
        return ran


def workers_of(file: Path) -> int | None:
    """Return how many workers the job in a state has, or None if there is no job."""
    latest = json.loads(file.read_text())["checkpoint"].get("latest") or {}
    for one in latest.get("resources", []):
        if one["type"].endswith(":CustomJob"):
            return int(one["inputs"]["worker_pool_specs"][1]["replica_count"])
    return None


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    tool("act")  # skips before anything is made
    folder = tmp_path_factory.mktemp("github")
    repository = project.make(folder, python=warm_python.shared())
    recorded = Story(runs={}, comments={}, issues={}, workers={}, stacks={}, logins={}, changes={})
    try:
        with github(folder / "artifacts") as site:
            act = Runner(
                clone=repository.folder,
                site=site,
                records=folder / "records",
                environment={k: v for k, v in repository.environment.items() if k != "GOGC"},
                variables={
                    "PULUMI_BACKEND_URL": f"file://{folder / 'state'}?metadata=skip",
                    "STACKS": '["dev", "prod"]',
                },
            )
            play(Stage(folder=folder, repository=repository, site=site, act=act, story=recorded))
        yield recorded
    finally:
        emulator_reset.stop_and_end_jobs(folder / "emulator")


def play(stage: Stage) -> None:
    """Play the life of a pull request, of a fork's, of drift, and of preview environments."""
    repository, site = stage.repository, stage.site
    repository.git("checkout", "--quiet", "-b", "more-workers")
    repository.set_workers("dev", 2)
    repository.commit("Two workers")
    site.comment_of("User", f"{MARKER}\nnot by the workflow")
    stage.run("plan", "plan", "pull_request", pull_request("opened"))
    repository.set_workers("dev", 3)
    repository.commit("Three workers")
    stage.run("plan again", "plan", "pull_request", pull_request("synchronize"))
    repository.set_workers("dev", -1)
    repository.commit("Too few workers")
    stage.run("broken plan", "plan", "pull_request", pull_request("synchronize"))
    repository.git("reset", "--quiet", "--hard", "HEAD~1")
    stage.run("fork", "plan", "pull_request", pull_request("opened", head="stranger/training"))
    repository.squash_merge("more-workers")
    site.merge(7, repository.git("rev-parse", "HEAD"))
    stage.run("apply", "apply", "push", _PUSH)
    repository.set_workers("dev", 9)
    repository.commit("Nobody planned this")
    stage.run("apply without a plan", "apply", "push", _PUSH)
    dispatch = {**_PUSH, "inputs": {"stack": "dev"}}
    stage.run("plan and apply", "apply", "workflow_dispatch", dispatch)
    delete_bucket(stage.folder / "emulator", "training-dev")
    stage.run("drift", "drift", "schedule", {})
    repository.call("pulumi", "up", "--refresh", "--yes", "--skip-preview", "--stack", "dev")
    stage.run("no drift", "drift", "schedule", {})
    stage.run("preview", "preview", "pull_request", pull_request("labeled", "preview"))
    stage.run("closed", "preview", "pull_request", pull_request("closed", "preview"))
    stage.run("closed again", "preview", "pull_request", pull_request("closed"))
    for number, state in ((8, "closed"), (9, "open")):
        site.pulls[number] = {"state": state, "labels": [{"name": "preview"}]}
        repository.call("pulumi", "stack", "init", f"pr-{number}")
    stage.run("sweep", "preview", "schedule", {})


def delete_bucket(data_dir: Path, name: str) -> None:
    """Delete a bucket behind Pulumi's back."""
    emulator = launcher.find(data_dir)
    assert emulator is not None
    endpoint = Endpoint(
        kind="emulator",
        project="local",
        location="us-central1",
        url=emulator.url,
        token=emulator.token,
        storage_url=emulator.storage_url,
    )
    rest.call(endpoint, "DELETE", f"{endpoint.url}/storage/v1/b/{name}")


def test_a_pull_request_gets_one_comment_with_the_plan_of_each_stack(story: Story) -> None:
    story.runs["plan"].ok()
    _, ours = story.comments["plan"]
    assert ours.startswith(MARKER)
    assert ours.index("stack dev") < ours.index("stack prod")
    assert "Commit 0123456789ab" in ours


def test_a_push_updates_the_comment(story: Story) -> None:
    story.runs["plan again"].ok()
    _, ours = story.comments["plan again"]
    assert ours != story.comments["plan"][1]
    assert story.changes["plan again"] == [("PATCH", f"/repos/{REPOSITORY}/issues/comments/101")]


def test_a_plan_with_errors_fails_and_its_errors_are_in_the_comment(story: Story) -> None:
    assert "The plan of a stack failed" in story.runs["broken plan"].failed().printed
    assert "The plan of a stack failed" not in story.runs["plan again"].printed
    _, ours = story.comments["broken plan"]
    assert "-1 replicas" in ours
    assert "stack prod" in ours


def test_a_comment_of_a_person_is_never_edited(story: Story) -> None:
    assert story.comments["closed"][0] == f"{MARKER}\nnot by the workflow"


def test_a_plan_deploys_nothing(story: Story) -> None:
    planned = ("plan", "plan again", "broken plan", "fork")
    assert {name: story.workers[name] for name in planned} == dict.fromkeys(planned)


def test_a_fork_is_planned_on_the_emulator_without_credentials(story: Story) -> None:
    story.runs["fork"].ok()
    assert "stack local" in story.runs["fork"].printed
    assert story.logins["fork"] == []
    assert story.changes["fork"] == []


def test_a_merge_deploys_each_stack_with_the_saved_plan(story: Story) -> None:
    story.runs["apply"].ok()
    assert story.workers["apply"] == 3


def test_without_a_saved_plan_of_these_files_nothing_is_deployed(story: Story) -> None:
    ran = story.runs["apply without a plan"].failed()
    assert "There is no saved plan plan-.-dev-" in ran.printed
    assert "gh workflow run apply.yml -f stack=dev" in ran.printed
    assert story.workers["apply without a plan"] == 3


def test_a_run_by_hand_plans_again_and_deploys(story: Story) -> None:
    story.runs["plan and apply"].ok()
    assert story.workers["plan and apply"] == 9


def test_drift_is_an_issue_that_is_closed_when_it_is_gone(story: Story) -> None:
    story.runs["drift"].ok()
    ((title, state),) = {(one["title"], one["state"]) for one in story.issues["drift"]}
    assert (title, state) == ("Drift in stack dev", "open")
    assert "training-dev" in story.issues["drift"][0]["body"] or "data" in story.issues["drift"][0]["body"]
    story.runs["no drift"].ok()
    assert [one["state"] for one in story.issues["no drift"]] == ["closed"]


def test_a_labelled_pull_request_has_a_stack_until_it_is_closed(story: Story) -> None:
    story.runs["preview"].ok()
    assert "pr-7" in story.stacks["preview"]
    assert "training-pr-7" in story.runs["preview"].printed
    story.runs["closed"].ok()
    assert "pr-7" not in story.stacks["closed"]
    assert "There is no stack pr-7." in story.runs["closed again"].ok().printed


def test_stacks_of_closed_pull_requests_are_swept(story: Story) -> None:
    story.runs["sweep"].ok()
    assert {"pr-8", "pr-9"} & story.stacks["sweep"] == {"pr-9"}


def test_every_job_of_the_repository_logs_in_without_a_key(story: Story) -> None:
    jobs = {
        "plan": ["plan", "plan"],
        "apply": ["apply", "apply"],
        "plan and apply": ["plan", "apply"],
        "drift": ["drift", "drift"],
        "preview": ["deploy"],
        "closed": ["destroy"],
        "sweep": ["sweep"],
    }
    expected = {name: [f"{PROVIDER} {ACCOUNT} {job}" for job in of] for name, of in jobs.items()}
    assert {name: story.logins[name] for name in jobs} == expected
