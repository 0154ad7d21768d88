"""gitops/ci.py against stand-ins of GitHub and GitLab: comments, issues, saved plans, credentials."""

from __future__ import annotations

import io
import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import google.auth.identity_pool
import pytest

from support.client.gitops import github as on_github
from support.client.gitops import gitlab as on_gitlab
from support.client.gitops.github import GitHub, github
from support.client.gitops.gitlab import GitLab, gitlab
from support.tables import every_row

SCRIPT = Path(__file__).resolve().parents[3] / "gitops" / "ci.py"
sys.path.insert(0, str(SCRIPT.parent))  # the script does not belong to the installed project
MERGED = "0123456789abcdef"
MARKER = "<!-- vertex-training plan of . -->"


@dataclass(frozen=True, kw_only=True)
class Site:
    """A stand-in with the variables of its jobs, and how its comments look to a test."""

    api: GitHub | GitLab
    variables: dict[str, str]
    bodies: Callable[[], list[str]]
    comment_of: Callable[[str], int]
    """Add a comment of somebody else."""
    longest: int

    def run(self, *arguments: str, code: int = 0, **more: str) -> str:
        """Run the script's `main` with the variables of a job of the site. Return what it printed."""
        import ci

        with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
            found = ci.main(arguments, {**self.variables, **more})
        assert found == code, out.getvalue() + err.getvalue()
        return out.getvalue() if code == 0 else err.getvalue()

    def start(self, *arguments: str) -> str:
        """Run the script in a process of its own, as a job does. Return what it printed."""
        command = [sys.executable, str(SCRIPT), *arguments]
        env = {"PATH": os.environ["PATH"], **self.variables}
        return subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE, text=True).stdout

    def issues(self) -> list[tuple[str, str, str]]:
        """Return title, state and text of each issue."""
        return [
            (one["title"], one["state"].removesuffix("ed"), one.get("body") or one.get("description") or "")
            for one in self.api.issues.values()
        ]


@pytest.fixture(params=["github", "gitlab"])
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    if request.param == "github":
        with github(tmp_path / "artifacts") as hub:
            yield Site(
                api=hub,
                variables={
                    "GITHUB_API_URL": hub.url,
                    "GITHUB_SERVER_URL": "https://github.com",
                    "GITHUB_REPOSITORY": on_github.REPOSITORY,
                    "GITHUB_TOKEN": on_github.TOKEN,
                    "GITHUB_RUN_ID": "9",
                    "PULL_REQUEST": "7",
                    "COMMIT": "0123456789abcdef",
                    "GITHUB_SHA": MERGED,
                    "GITHUB_REF_NAME": "main",
                },
                bodies=hub.bodies,
                comment_of=lambda body: hub.comment_of("User", body),
                longest=65_536,
            )
        return
    with gitlab() as lab:
        yield Site(
            api=lab,
            variables={
                "CI_API_V4_URL": lab.url,
                "CI_PROJECT_ID": on_gitlab.PROJECT,
                "CI_MERGE_REQUEST_IID": "7",
                "CI_JOB_TOKEN": on_gitlab.JOB_TOKEN,
                "GITLAB_TOKEN": on_gitlab.TOKEN,
                "CI_PIPELINE_URL": "https://gitlab.example.com/pipelines/9",
                "CI_COMMIT_SHA": MERGED,
                "CI_COMMIT_BRANCH": "main",
                "CI_PIPELINE_ID": "9",
            },
            bodies=lab.bodies,
            comment_of=lambda body: lab.note_of(6, body),
            longest=1_000_000,
        )


def plans(folder: Path, **texts: str) -> Path:
    """Write the plans of stacks as `vertex-training plan --markdown` does, with its own marker first."""
    for stack, text in texts.items():
        (folder / stack).mkdir(parents=True, exist_ok=True)
        (folder / stack / "plan.md").write_text(f"<!-- vertex-training plan training/{stack} -->\n{text}\n")
        (folder / stack / "errors.txt").write_text("")
    return folder


def test_plans_of_all_stacks_are_one_comment_that_is_updated(site: Site, tmp_path: Path) -> None:
    folder = plans(tmp_path / "plans", prod="prod: nothing", dev="dev: 2 workers")
    assert "new comment" in site.run("comment", str(folder))
    (first,) = site.bodies()
    assert first.startswith(f"{MARKER}\n")
    assert first.index("dev: 2 workers") < first.index("prod: nothing")
    assert "training/dev" not in first
    assert "Commit 0123456789ab, [pipeline](https://git" in first
    plans(folder, dev="dev: 3 workers")
    assert "updated" in site.start("comment", str(folder))
    (second,) = site.bodies()
    assert "dev: 3 workers" in second
    assert "dev: 2 workers" not in second


def test_a_comment_of_somebody_else_is_kept(site: Site, tmp_path: Path) -> None:
    site.comment_of(f"{MARKER}\nmine")
    folder = plans(tmp_path / "plans", dev="dev")
    site.run("comment", str(folder))
    site.run("comment", str(folder))
    assert len(site.bodies()) == 2
    assert site.bodies()[0] == f"{MARKER}\nmine"


def test_the_comment_is_found_on_a_later_page(site: Site, tmp_path: Path) -> None:
    for number in range(100):
        site.comment_of(f"comment {number}")
    folder = plans(tmp_path / "plans", dev="dev")
    site.run("comment", str(folder))
    site.run("comment", str(folder))
    assert len(site.bodies()) == 101


def test_two_projects_have_two_comments(site: Site, tmp_path: Path) -> None:
    folder = plans(tmp_path / "plans", dev="dev")
    site.run("comment", str(folder))
    site.run("comment", str(folder), FOLDER="environment")
    site.run("comment", str(folder), FOLDER="environment")
    assert len(site.bodies()) == 2


def test_a_plan_that_failed_shows_its_error(site: Site, tmp_path: Path) -> None:
    folder = plans(tmp_path / "plans", dev="")
    (folder / "dev" / "plan.md").write_text("")
    (folder / "dev" / "errors.txt").write_text("no stack named ```dev```\n")
    site.run("comment", str(folder))
    assert "### Stack dev: the plan failed\n\n````\nno stack named ```dev```\n````" in site.bodies()[0]


def test_long_plans_are_cut_so_that_each_stack_is_shown(site: Site, tmp_path: Path) -> None:
    rows = "\n".join(f"| row {number} | {'x' * 90} |" for number in range(site.longest // 90))
    long = f"<details><summary>all</summary>\n\n```\n{rows}\n```\n\n</details>"
    folder = plans(tmp_path / "plans", dev=f"dev\n{long}", prod=f"prod\n{long}")
    site.run("comment", str(folder))
    site.run("comment", str(folder))
    (body,) = site.bodies()
    assert site.longest * 0.9 < len(body) <= site.longest
    assert "\nprod\n" in body
    assert body.count("\n```") == 4
    assert body.count("<details>") == body.count("</details>") == 2
    assert body.count("The rest is too long") == 2


@every_row(
    "opening, fence, ends",
    (
        ("````\n```\n```\n```", "````", ""),
        ("~~~~\n```\n~~~", "~~~~", ""),
        ("   ```\n``` not an end", "```", ""),
        ("<details><summary>all</summary>\n\n````\n</details>", "````", "</details>\n"),
    ),
)
def test_a_cut_text_closes_the_fence_and_the_details_that_it_opened(
    opening: str, fence: str, ends: str, site: Site, tmp_path: Path
) -> None:
    folder = plans(tmp_path / "plans", dev=f"{opening}\n" + f"{'x' * 99}\n" * (site.longest // 90))
    site.run("comment", str(folder))
    (body,) = site.bodies()
    assert f"{'x' * 99}\n{fence}\n{ends}\nThe rest is too long" in body


def test_names_of_stacks_are_neutral(site: Site, tmp_path: Path) -> None:
    folder = plans(tmp_path / "plans", **{"a <img> @team org#1": ""})
    (folder / "a <img> @team org#1" / "plan.md").write_text("")
    site.run("comment", str(folder))
    assert "### Stack a??img???team?org?1: the plan failed" in site.bodies()[0]
    drift(site, tmp_path, 1, errors="x", stack="prod --> @team")
    ((title, _, text),) = site.issues()
    assert title == "Drift in stack prod?--???team"
    assert "@team" not in text


def test_without_a_plan_nothing_is_written(site: Site, tmp_path: Path) -> None:
    assert "There is no plan in" in site.run("comment", str(tmp_path / "none"), code=1)
    assert site.api.changes() == []


def drift(site: Site, folder: Path, code: int, text: str = "", errors: str = "", stack: str = "prod") -> str:
    (folder / "drift.md").write_text(text)
    (folder / "errors.txt").write_text(errors)
    files = ("--report", str(folder / "drift.md"), "--errors", str(folder / "errors.txt"))
    return site.run("issue", "--stack", stack, "--code", str(code), *files)


def test_drift_is_one_issue_for_a_stack_until_it_is_gone(site: Site, tmp_path: Path) -> None:
    assert "no open issue" in drift(site, tmp_path, 0, "none")
    assert site.issues() == []
    assert "new issue" in drift(site, tmp_path, 1, "bucket deleted")
    assert "updated" in drift(site, tmp_path, 1, "bucket and job deleted")
    assert "new issue" in drift(site, tmp_path, 1, "job cancelled", stack="dev")
    ((title, state, text), (other, _, _)) = site.issues()
    assert (title, state, other) == ("Drift in stack prod", "open", "Drift in stack dev")
    assert "bucket and job deleted" in text
    assert "closed" in drift(site, tmp_path, 0, "none, 3 unchanged")
    assert [state for _, state, _ in site.issues()] == ["clos", "open"]
    assert "new issue" in drift(site, tmp_path, 1, "again")


def test_drift_that_could_not_be_read_is_an_issue_with_the_error(site: Site, tmp_path: Path) -> None:
    drift(site, tmp_path, 1, errors="no permission")
    ((_, _, text),) = site.issues()
    assert "### Stack prod: drift could not be read\n\n```\nno permission\n```" in text


def test_a_wrong_token_is_one_line(site: Site, tmp_path: Path) -> None:
    name = "GITHUB_TOKEN" if isinstance(site.api, GitHub) else "GITLAB_TOKEN"
    folder = plans(tmp_path / "plans", dev="dev")
    said = site.run("comment", str(folder), code=1, **{name: "wrong"})
    assert len(said.splitlines()) == 1
    assert ": 401 " in said


def test_stacks_of_closed_pull_requests_are_listed(site: Site, tmp_path: Path) -> None:
    label = {"name": "preview"} if isinstance(site.api, GitHub) else "preview"
    opened = "open" if isinstance(site.api, GitHub) else "opened"
    found = site.api.pulls if isinstance(site.api, GitHub) else site.api.merge_requests
    found[7] = {"state": opened, "labels": [label]}
    found[8] = {"state": opened, "labels": []}
    found[9] = {"state": "closed", "labels": [label]}
    names = ("dev", "pr-7", "pr-8", "my-team/training/pr-9", "pr-next", "my-pr-10")
    (tmp_path / "stacks.json").write_text(json.dumps([{"name": name} for name in names]))
    assert site.run("ended", str(tmp_path / "stacks.json")).split() == ["pr-8", "pr-9"]
    (tmp_path / "stacks.json").write_text("[]")
    assert site.run("ended", str(tmp_path / "stacks.json")) == ""


def artifact(hub: GitHub, run: str, text: str) -> None:
    folder = hub.artifacts / run / "plan-.-prod-abc" / "prod"
    folder.mkdir(parents=True)
    (folder / "plan.json").write_text(text)


FOREIGN_RUNS: dict[str, dict[str, str]] = {
    "another workflow": {"path": ".github/workflows/mine.yml"},
    "another event": {"event": "push"},
    "another commit": {"head_sha": "bbb"},
    "another branch": {"head_branch": "attacker/any-branch"},
}


@pytest.mark.parametrize("site", ["github"], indirect=True)
def test_only_the_newest_plan_of_the_plan_workflow_for_the_merged_head_is_fetched(
    site: Site, tmp_path: Path
) -> None:
    assert isinstance(site.api, GitHub)
    fetch = ("fetch", "--name", "plan-.-prod-abc", "--to", str(tmp_path / "plans"))
    site.api.merge(7, MERGED)
    site.api.forked_runs.add("3")
    site.api.expired_runs.add("4")
    site.api.runs = {f"9 {what}": change for what, change in FOREIGN_RUNS.items()}
    for run in ("3", "4", *site.api.runs):
        artifact(site.api, run, "forged")
    refused = site.run(*fetch, code=1)
    assert "There is no saved plan plan-.-prod-abc: what has this name was not saved by plan.yml" in refused
    for run, text in (("1", "old"), ("2", "own")):
        artifact(site.api, run, text)
    (site.api.artifacts / "2" / "plan-.-prod-abc" / "evil").write_text("beside the plan")
    (tmp_path / "plans").mkdir()
    (tmp_path / "plans" / "stale").write_text("of an earlier run")
    site.run(*fetch)
    assert (tmp_path / "plans" / "prod" / "plan.json").read_text() == "own"
    assert [one.name for one in (tmp_path / "plans").iterdir()] == ["prod"]
    # A run that was started manually deploys what it has planned itself.
    manual = {"GITHUB_EVENT_NAME": "workflow_dispatch"}
    site.run(*fetch, **manual, GITHUB_RUN_ID="1")
    assert (tmp_path / "plans" / "prod" / "plan.json").read_text() == "old"
    assert "was not saved by" in site.run(*fetch, code=1, **manual, GITHUB_RUN_ID="8")
    # The same commits in a pull request into another branch, whose workflow nobody has reviewed.
    site.api.merge(8, "", merged_at=None, base={"ref": "attacker/base"})
    assert "pull request 8 has the same commits" in site.run(*fetch, code=1)
    del site.api.pulls[8]
    for changes in ({"merged_at": None}, {"base": {"ref": "old"}}, {"merge_commit_sha": "other"}):
        site.api.merge(7, **{"commit": MERGED, **changes})
        assert f"no pull request was merged into main as {MERGED[:12]}" in site.run(*fetch, code=1)


@pytest.mark.parametrize("site", ["gitlab"], indirect=True)
def test_only_the_plan_that_the_merged_requests_pipeline_kept_is_fetched(site: Site, tmp_path: Path) -> None:
    assert isinstance(site.api, GitLab)
    fetch = ("fetch", "--name", "plan-prod-0a1b", "--to", str(tmp_path / "plans"))

    def keep(text: str, pipeline: int) -> None:
        (tmp_path / "plan.json").write_text(text)
        site.api.pipeline = pipeline
        site.run("keep", "--name", "plan-prod-0a1b", str(tmp_path / "plan.json"))

    site.api.merge(7, MERGED, pipeline=5)
    keep("forged", 6)
    assert "none of the kept ones is by the pipeline" in site.run(*fetch, code=1)
    keep("kept", 5)
    site.run(*fetch)
    assert (tmp_path / "plans" / "plan.json").read_text() == "kept"
    keep("forged", 6)
    assert "another pipeline has replaced it" in site.run(*fetch, code=1)
    # A pipeline that plans again deploys what it has planned itself.
    keep("again", 9)
    site.run(*fetch, PLAN_AGAIN="yes")
    assert (tmp_path / "plans" / "plan.json").read_text() == "again"
    keep("kept", 5)
    pushed = {"head_pipeline": {"id": 5, "ref": "more-workers", "source": "push"}}
    for changes in ({"state": "opened"}, {"target_branch": "old"}, pushed):
        site.api.merge(7, MERGED, pipeline=5, **changes)
        assert "no merge request with a pipeline was merged into main" in site.run(*fetch, code=1)


@pytest.mark.parametrize("to", [".", "..", "../project"])
def test_the_folder_of_a_project_is_not_deleted_for_a_plan(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, to: str
) -> None:
    for name in ("work/program.py", "project/Pulumi.yaml"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    monkeypatch.chdir(tmp_path / "work")
    said = site.run("fetch", "--name", "plan-prod-0a1b", "--to", to, code=1)
    assert f"--to {to}: fetch deletes this folder first, and a project is in it." in said
    assert sorted(tmp_path.rglob("*")) == before


def test_a_missing_plan_says_what_to_do(site: Site, tmp_path: Path) -> None:
    command = ("fetch", "--name", "plan-prod-0a1b", "--to", str(tmp_path / "plans"))
    said = site.run(*command, code=1, REMEDY="Plan again: do this.")
    assert said.startswith("There is no saved plan plan-prod-0a1b: ")
    assert said.endswith("Nothing was applied. Plan again: do this.\n")


def test_googles_clients_read_the_credentials_of_gitlab(tmp_path: Path) -> None:
    provider = "projects/1/locations/global/workloadIdentityPools/training/providers/gitlab"
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "google-credentials", "--to", str(tmp_path / "google")],
        env={
            "WORKLOAD_IDENTITY_PROVIDER": provider,
            "SERVICE_ACCOUNT": "deployer@my-project.iam.gserviceaccount.com",
            "GOOGLE_ID_TOKEN": "a.b.c",
        },
        capture_output=True,
        text=True,
        check=True,
    )
    file = Path(done.stdout.strip())
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "a.b.c" not in file.read_text() + done.stdout
    credentials = google.auth.identity_pool.Credentials.from_file(str(file))
    assert credentials.service_account_email == "deployer@my-project.iam.gserviceaccount.com"
    assert credentials.retrieve_subject_token(None) == "a.b.c"
    assert credentials.info["audience"] == f"//iam.googleapis.com/{provider}"
