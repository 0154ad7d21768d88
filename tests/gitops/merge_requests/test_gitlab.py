"""The jobs of gitops/gitlab, line by line in clean clones against the emulator, as a runner executes them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from support.client.gitops import gitlab as on_gitlab
from support.client.gitops import project
from support.client.gitops.gitlab import GitLab, gitlab
from support.client.gitops.gitlab_jobs import Ended, GitLabRunner, Job, jobs
from support.client.gitops.project import Repository
from support.warm import warm_python
from vertex_emulator.daemon import reset as emulator_reset

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]  # one fixture plays the whole story
MARKER = "<!-- vertex-training plan of . -->"
PROVIDER = "projects/1/locations/global/workloadIdentityPools/training/providers/gitlab"


@dataclass(kw_only=True)
class Story:
    """The jobs that ran, in their order, and what the project had after each."""

    folder: Path
    repository: Repository
    site: GitLab
    runner: GitLabRunner
    jobs: dict[str, Job]
    ended: dict[str, Ended] = field(default_factory=dict)
    notes: dict[str, list[str]] = field(default_factory=dict)
    stacks: dict[str, set[str]] = field(default_factory=dict)

    def new_pipeline(self) -> None:
        """Start a pipeline, whose jobs have no artifacts yet."""
        self.site.pipeline += 1
        self.runner.new_pipeline()

    def run(self, step: str, job: str, ref: str) -> Ended:
        """Run a job in a clean clone of a branch, and record it as `step`."""
        predefined = {
            "CI_API_V4_URL": self.site.url,
            "CI_PROJECT_ID": on_gitlab.PROJECT,
            "CI_MERGE_REQUEST_IID": "7",
            "CI_JOB_TOKEN": on_gitlab.JOB_TOKEN,
            "GITLAB_TOKEN": on_gitlab.TOKEN,
            "CI_PIPELINE_URL": "https://gitlab.example.com/pipelines/9",
            "CI_PIPELINE_ID": str(self.site.pipeline),
            "CI_COMMIT_SHA": self.repository.git("rev-parse", ref),
            "CI_COMMIT_BRANCH": ref,
            "PULUMI_BACKEND_URL": f"file://{self.folder / 'state'}?metadata=skip",
            "WORKLOAD_IDENTITY_PROVIDER": PROVIDER,
            "SERVICE_ACCOUNT": "deployer@my-project.iam.gserviceaccount.com",
            "GOOGLE_ID_TOKEN": "a.b.c",
        }
        ended = self.runner.run(self.jobs[job], ref, predefined)
        self.ended[step] = ended
        self.notes[step] = self.site.bodies()
        stacks = self.folder / "state" / ".pulumi" / "stacks" / "training"
        self.stacks[step] = {file.stem for file in stacks.glob("*.json")}
        return ended


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    folder = tmp_path_factory.mktemp("gitlab")
    repository = project.make(folder, python=warm_python.shared())
    try:
        with gitlab() as site:
            made = Story(
                folder=folder,
                repository=repository,
                site=site,
                runner=GitLabRunner(
                    origin=repository.folder, folder=folder, environment=repository.environment
                ),
                jobs=jobs(repository.folder / ".gitlab-ci.yml"),
            )
            play(made)
            yield made
    finally:
        emulator_reset.stop_and_end_jobs(folder / "emulator")


def play(story: Story) -> None:
    """Play the life of a merge request: plans, a merge, drift, and a preview environment."""
    repository = story.repository
    repository.git("checkout", "--quiet", "-b", "more-workers")
    for count in (2, 3):
        repository.set_workers("dev", count)
        repository.commit(f"{count} workers")
        story.new_pipeline()
        for stack in ("dev", "prod"):
            story.run(f"plan {stack} {count}", f"plan: [{stack}]", "more-workers")
        story.run(f"comment {count}", "comment", "more-workers")
    planned = story.site.pipeline
    story.new_pipeline()
    story.run("preview", "preview", "more-workers")
    repository.squash_merge("more-workers")
    story.site.merge(7, repository.git("rev-parse", "HEAD"), pipeline=planned)
    story.new_pipeline()
    story.run("apply dev", "apply dev", "main")
    story.run("apply staging", "apply staging", "main")
    story.run("drift", "drift: [dev]", "main")
    repository.git("checkout", "--quiet", "-b", "broken")
    repository.set_workers("dev", -1)
    repository.commit("Too few workers")
    story.run("plan broken", "plan: [dev]", "broken")
    story.run("comment broken", "comment", "broken")
    story.run("destroy preview", "destroy preview", "main")


def test_every_line_of_every_job_ran(story: Story) -> None:
    ran = {"plan dev 2", "comment 2", "preview", "apply dev", "drift", "destroy preview"}
    for step in ran:
        story.ended[step].ok()
    of = {
        "plan dev 2": "plan: [dev]",
        "comment 2": "comment",
        "preview": "preview",
        "apply dev": "apply dev",
        "drift": "drift: [dev]",
        "destroy preview": "destroy preview",
    }
    assert {step: story.ended[step].lines for step in of} == {
        step: story.jobs[job].lines for step, job in of.items()
    }
    tried = {story.jobs[job].name for job in of.values()} | {"apply staging", "apply prod"}
    assert tried == {job.name for job in story.jobs.values()}


def test_the_plans_are_one_note_that_a_later_pipeline_updates(story: Story) -> None:
    (first,) = story.notes["comment 2"]
    (second,) = story.notes["comment 3"]
    assert first.startswith(MARKER)
    assert first.index("stack dev") < first.index("stack prod")
    assert first != second


def test_a_plan_with_errors_fails_and_its_errors_are_in_the_note(story: Story) -> None:
    assert story.ended["plan broken"].code == 1
    (note,) = story.notes["comment broken"]
    assert "-1 replicas" in note
    planned = [name for name in story.site.packages if "/plan-dev/" in name]
    assert len(planned) == 2


def test_a_merge_deploys_the_kept_plan(story: Story) -> None:
    assert "apply dev" in story.ended
    state = json.loads((story.folder / "state/.pulumi/stacks/training/dev.json").read_text())
    (job,) = [one for one in state["checkpoint"]["latest"]["resources"] if one["type"].endswith(":CustomJob")]
    assert job["inputs"]["worker_pool_specs"][1]["replica_count"] == 3


def test_without_a_kept_plan_nothing_is_deployed(story: Story) -> None:
    """Run the job of the stack staging, which no pipeline has planned."""
    ended = story.ended["apply staging"]
    assert ended.code == 1
    assert "There is no saved plan plan-staging-" in ended.output
    assert "with the variable PLAN_AGAIN=yes" in ended.output
    assert "staging" not in story.stacks["apply staging"]


def test_without_drift_no_issue_is_opened(story: Story) -> None:
    assert "No drift, and no open issue." in story.ended["drift"].output
    assert story.site.issues == {}


def test_a_preview_environment_is_a_stack_of_its_own_until_it_is_stopped(story: Story) -> None:
    assert "pr-7" in story.stacks["preview"]
    assert "training-pr-7" in story.ended["preview"].output
    assert "pr-7" not in story.stacks["destroy preview"]


def test_the_login_has_no_key_and_is_outside_of_the_clone(story: Story) -> None:
    clones = story.folder / "builds"
    logins = sorted(clones.glob("*.tmp/google/google-credentials.json"))
    comments = [step for step in story.ended if step.startswith("comment")]
    assert len(logins) == len(story.ended) - len(comments)  # a comment needs no login
    assert json.loads(logins[0].read_text())["type"] == "external_account"
