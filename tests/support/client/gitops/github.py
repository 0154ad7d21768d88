"""A stand-in for GitHub's REST API: comments, issues, pull requests and artifacts of one repository."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from support.client.gitops.server import Answer, Api, Asked, page, serving

REPOSITORY = "my-team/training"
TOKEN = "ghs_token-of-the-job"
HEAD = {"ref": "more-workers", "sha": "0123456789abcdef"}
"""The head of the pull request that tests plan and merge."""
_OWN, _FORK = 1, 2
"""Ids of the repository and of a fork."""


@dataclass
class GitHub(Api):
    """The content of the repository; the stand-in action writes artifacts to `artifacts/RUN/NAME`."""

    artifacts: Path = Path()
    comments: dict[int, dict[str, Any]] = field(default_factory=dict)
    issues: dict[int, dict[str, Any]] = field(default_factory=dict)
    pulls: dict[int, dict[str, Any]] = field(default_factory=dict)
    runs: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Differences from a run of plan.yml for HEAD, by the name of the run."""
    forked_runs: set[str] = field(default_factory=set)
    expired_runs: set[str] = field(default_factory=set)

    def comment_of(self, user_type: str, body: str, *, pull: int = 7) -> int:
        """Add a comment. Return its id."""
        number = 100 + len(self.comments)
        self.comments[number] = {"id": number, "body": body, "user": {"type": user_type}, "pull": pull}
        return number

    def bodies(self, pull: int = 7) -> list[str]:
        return [one["body"] for one in self.comments.values() if one["pull"] == pull]

    def answer(self, asked: Asked) -> Answer:
        if asked.path.startswith("/storage/"):
            return self._download(asked)
        if asked.headers.get("authorization") != f"Bearer {TOKEN}":
            return Answer(status=401, document={"message": "Bad credentials"})
        prefix = f"/repos/{REPOSITORY}/"
        if not asked.path.startswith(prefix):
            return Answer(status=404, document={"message": "Not Found"})
        rest = asked.path.removeprefix(prefix)
        for pattern, method in (
            (r"issues/(\d+)/comments", self._comments),
            (r"issues/comments/(\d+)", self._comment),
            (r"issues", self._issues),
            (r"issues/(\d+)", self._issue),
            (r"pulls", self._pulls),
            (r"pulls/(\d+)", self._pull),
            (r"commits/(\w+)/pulls", self._pulls),
            (r"actions/runs/([^/]+)", self._run),
            (r"actions/artifacts", self._artifacts),
            (r"actions/artifacts/([^/]+)/zip", self._zip),
        ):
            if found := re.fullmatch(pattern, rest):
                return method(asked, *found.groups())
        return Answer(status=404, document={"message": "Not Found"})

    def _comments(self, asked: Asked, pull: str) -> Answer:
        if asked.method == "POST":
            number = self.comment_of("Bot", asked.document["body"], pull=int(pull))
            return Answer(status=201, document=self.comments[number])
        rows = [one for one in self.comments.values() if one["pull"] == int(pull)]
        return Answer(document=page(rows, asked))

    def _comment(self, asked: Asked, number: str) -> Answer:
        if len(asked.document["body"]) > 65_536:
            return Answer(status=422, document={"message": "Validation Failed: body is too long"})
        self.comments[int(number)]["body"] = asked.document["body"]
        return Answer(document=self.comments[int(number)])

    def _issues(self, asked: Asked) -> Answer:
        if asked.method == "POST":
            number = 40 + len(self.issues)
            self.issues[number] = {
                **asked.document,
                "number": number,
                "state": "open",
                "user": {"type": "Bot"},
            }
            return Answer(status=201, document=self.issues[number])
        rows = [
            one
            for one in self.issues.values()
            if one["state"] == asked.query["state"] and asked.query["labels"] in one["labels"]
        ]
        return Answer(document=page(rows, asked))

    def _issue(self, asked: Asked, number: str) -> Answer:
        self.issues[int(number)].update(asked.document)
        return Answer(document=self.issues[int(number)])

    def _pull(self, asked: Asked, number: str) -> Answer:
        return Answer(document=self.pulls[int(number)])

    def _pulls(self, asked: Asked, commit: str = "") -> Answer:
        """Answer with the pull requests of a commit, as of its merge, or with those of a branch."""
        rows = [
            one
            for one in self.pulls.values()
            if (one.get("merge_commit_sha") == commit if commit else _has_head(one, asked.query["head"]))
        ]
        return Answer(document=page(rows, asked))

    def run(self, name: str) -> dict[str, Any]:
        """Return a run: of the workflow plan.yml for HEAD, except for the differences in `runs`."""
        own = {
            "id": name,
            "path": ".github/workflows/plan.yml",
            "event": "pull_request",
            "head_branch": HEAD["ref"],
            "head_sha": HEAD["sha"],
        }
        return {**own, **self.runs.get(name, {})}

    def _run(self, asked: Asked, name: str) -> Answer:
        return Answer(document=self.run(name))

    def merge(self, number: int, commit: str, **more: Any) -> None:
        """Record that a pull request with HEAD was merged into main as a commit."""
        self.pulls[number] = {
            "number": number,
            "state": "closed",
            "labels": [],
            "merged_at": "2026-11-23T00:00:00Z",
            "merge_commit_sha": commit,
            "head": HEAD,
            "base": {"ref": "main"},
            **more,
        }

    def _artifacts(self, asked: Asked) -> Answer:
        rows = [
            {
                "id": f"{run.name}.{folder.name}",
                "name": folder.name,
                "expired": run.name in self.expired_runs,
                "created_at": f"2026-11-23T00:00:{index:02}Z",
                "archive_download_url": f"{self.url}/repos/{REPOSITORY}/actions/artifacts/"
                f"{quote(run.name)}.{folder.name}/zip",
                "workflow_run": {
                    **{key: self.run(run.name)[key] for key in ("id", "head_branch", "head_sha")},
                    "repository_id": _OWN,
                    "head_repository_id": _FORK if run.name in self.forked_runs else _OWN,
                },
            }
            for index, run in enumerate(sorted(self.artifacts.iterdir()))
            for folder in sorted(run.iterdir())
            if asked.query.get("name", folder.name) == folder.name
        ]
        return Answer(document={"total_count": len(rows), "artifacts": page(rows, asked)})

    def _zip(self, asked: Asked, artifact: str) -> Answer:
        return Answer(status=302, location=f"{self.url}/storage/{quote(artifact)}")

    def _download(self, asked: Asked) -> Answer:
        """Answer as the storage host of artifacts, which refuses a request with a token of GitHub."""
        if "authorization" in asked.headers:
            return Answer(status=400, document={"message": "InvalidAuthenticationInfo"})
        run, _, name = asked.path.removeprefix("/storage/").partition(".")
        folder = self.artifacts / run / name
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            for file in sorted(folder.rglob("*")):
                archive.write(file, file.relative_to(folder))
        return Answer(content=packed.getvalue())


def _has_head(pull: dict[str, Any], head: str) -> bool:
    return f"{REPOSITORY.partition('/')[0]}:{pull['head']['ref']}" == head


@contextmanager
def github(folder: Path) -> Iterator[GitHub]:
    """Serve an empty repository whose artifacts are in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    api = GitHub(artifacts=folder)
    with serving(api) as url:
        api.url = url
        yield api
