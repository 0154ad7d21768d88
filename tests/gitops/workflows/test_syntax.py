"""Every workflow against the published schemas, actionlint, and rules for pipelines with credentials."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.client.gitops.gitlab_jobs import jobs
from support.client.gitops.schema_checker import checked
from support.clients.tools import tool
from support.tables import not_empty

GITOPS = Path(__file__).resolve().parents[3] / "gitops"
WORKFLOWS = sorted((GITOPS / "github" / "workflows").glob("*.yml"))
ACTION = GITOPS / "github" / "actions" / "vertex-training" / "action.yml"
GITLAB = GITOPS / "gitlab" / ".gitlab-ci.yml"


def workflow(file: Path) -> dict[Any, Any]:
    document = yaml.safe_load(file.read_text())
    assert isinstance(document, dict)
    return document


@pytest.mark.parametrize(
    ("schema", "files", "more"),
    [
        ("vendor.github-workflows", WORKFLOWS, []),
        ("vendor.github-actions", [ACTION], []),
        ("vendor.gitlab-ci", [GITLAB], ["--data-transform", "gitlab-ci"]),
    ],
    ids=["workflows", "action", "gitlab"],
)
def test_files_have_the_published_schema(schema: str, files: list[Path], more: list[str]) -> None:
    done = checked("--builtin-schema", schema, *more, *map(str, files))
    assert done.exit_code == 0, done.output


def test_actionlint_finds_nothing(tmp_path: Path) -> None:
    """actionlint reads a local action from the repository's root, so the files are where a team has them."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".github").symlink_to(GITOPS / "github")
    files = [f".github/workflows/{file.name}" for file in WORKFLOWS]
    command = [str(tool("actionlint")), "-no-color", "-shellcheck=", "-pyflakes=", *files]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_actions_are_pinned_by_commit_with_their_version() -> None:
    lines = [
        line for file in [*WORKFLOWS, ACTION] for line in file.read_text().splitlines() if "uses: " in line
    ]
    remote = [line for line in lines if "uses: ./" not in line]
    assert len(remote) > 10
    assert [
        line for line in remote if not re.search(r"uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line)
    ] == []
    assert len({line.split("uses: ")[1].split(",")[0].strip() for line in remote}) == 6


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.stem)
def test_a_job_has_no_permission_that_it_does_not_name(file: Path) -> None:
    document = workflow(file)
    assert document["permissions"] == {}
    for name, job in document["jobs"].items():
        assert job["permissions"]["contents"] == "read", name
        assert job["timeout-minutes"] > 0


def test_only_reporting_jobs_may_write() -> None:
    writing = {
        (file.stem, name, permission)
        for file in WORKFLOWS
        for name, job in workflow(file)["jobs"].items()
        for permission, level in job["permissions"].items()
        if level == "write" and permission != "id-token"
    }
    assert writing == {("plan", "comment", "pull-requests"), ("drift", "drift", "issues")}


def test_the_code_of_a_fork_gets_neither_credentials_nor_a_token_that_writes() -> None:
    for file in WORKFLOWS:
        document = workflow(file)
        events = document[True]  # `on` in YAML 1.1
        assert "pull_request_target" not in events
        assert "workflow_run" not in events
        if "pull_request" not in events:
            continue
        for name, job in document["jobs"].items():
            if job["permissions"].get("id-token") == "write":
                its_own = "github.event.pull_request.head.repo.full_name == github.repository" in job["if"]
                assert its_own or "github.event_name != 'pull_request'" in job["if"], (file.name, name)
    fork = workflow(GITOPS / "github" / "workflows" / "plan.yml")["jobs"]["fork"]
    assert fork["permissions"] == {"contents": "read"}
    assert "secrets." not in str(fork)


def test_no_value_of_an_event_is_pasted_into_a_script() -> None:
    scripts = [
        step["run"]
        for file in [*WORKFLOWS, ACTION]
        for steps in _steps(workflow(file))
        for step in steps
        if "run" in step
    ]
    assert len(scripts) > 8
    assert [script for script in scripts if "${{" in script] == []


def _steps(document: dict[Any, Any]) -> list[list[dict[str, Any]]]:
    if "runs" in document:
        return [document["runs"]["steps"]]
    return [job["steps"] for job in document["jobs"].values()]


def test_a_checkout_leaves_no_token_behind() -> None:
    steps = [step for file in WORKFLOWS for steps in _steps(workflow(file)) for step in steps]
    for step in not_empty(one for one in steps if one.get("uses", "").startswith("actions/checkout@")):
        assert step["with"]["persist-credentials"] is False


def test_pipelines_have_no_keys() -> None:
    for file in [*WORKFLOWS, ACTION, GITLAB]:
        text = file.read_text()
        assert "credentials_json" not in text
        assert set(re.findall(r"secrets\.(\w+)", text)) <= {"PULUMI_CONFIG_PASSPHRASE"}


def test_deployments_of_a_stack_wait_for_each_other() -> None:
    apply = workflow(GITOPS / "github" / "workflows" / "apply.yml")["jobs"]["apply"]
    assert apply["concurrency"] == {"group": "deploy-${{ matrix.stack }}", "cancel-in-progress": False}
    assert apply["strategy"]["max-parallel"] == 1
    preview = workflow(GITOPS / "github" / "workflows" / "preview.yml")["jobs"]
    assert preview["deploy"]["concurrency"] == preview["destroy"]["concurrency"]
    assert preview["deploy"]["concurrency"]["cancel-in-progress"] is False
    on_gitlab = jobs(GITLAB)
    assert {on_gitlab[f"apply {name}"].content["resource_group"] for name in ("dev", "prod")} == {"$STACK"}


def test_jobs_of_gitlab_run_for_the_project_itself() -> None:
    for name, job in not_empty(jobs(GITLAB).items()):
        for rule in not_empty(job.content["rules"]):
            if "merge_request_event" in rule["if"]:
                assert "$CI_MERGE_REQUEST_SOURCE_PROJECT_ID == $CI_PROJECT_ID" in rule["if"], name
        assert ("id_tokens" in job.content) == (job.name != "comment")
