"""A stand-in for GitLab's REST API: notes, issues, merge requests and generic packages of one project."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from support.client.gitops.server import Answer, Api, Asked, page, serving

PROJECT = "41"
TOKEN = "glpat-token-of-the-project"
JOB_TOKEN = "glcbt-token-of-the-job"
_ME = 5


@dataclass
class GitLab(Api):
    """The content of the project."""

    notes: dict[int, dict[str, Any]] = field(default_factory=dict)
    issues: dict[int, dict[str, Any]] = field(default_factory=dict)
    packages: dict[str, bytes] = field(default_factory=dict)
    files: list[dict[str, Any]] = field(default_factory=list)
    """Each file that was kept, with the pipeline of the job that kept it."""
    pipeline: int = 9
    """The pipeline of the job that is running."""
    merge_requests: dict[int, dict[str, Any]] = field(default_factory=dict)

    def note_of(self, author: int, body: str, *, merge_request: int = 7) -> int:
        """Add a note. Return its id."""
        number = 100 + len(self.notes)
        self.notes[number] = {"id": number, "body": body, "author": {"id": author}, "on": merge_request}
        return number

    def bodies(self, merge_request: int = 7) -> list[str]:
        return [one["body"] for one in self.notes.values() if one["on"] == merge_request]

    def answer(self, asked: Asked) -> Answer:
        rest = asked.path.removeprefix(f"/projects/{PROJECT}/")
        if rest.startswith("packages/generic/"):
            if asked.headers.get("job-token") != JOB_TOKEN:
                return Answer(status=401, document={"message": "401 Unauthorized"})
            return self._package(asked, rest)
        if asked.headers.get("private-token") != TOKEN:
            return Answer(status=401, document={"message": "401 Unauthorized"})
        if asked.path == "/user":
            return Answer(document={"id": _ME})
        for pattern, method in (
            (r"merge_requests/(\d+)/notes", self._notes),
            (r"merge_requests/(\d+)/notes/(\d+)", self._note),
            (r"merge_requests/(\d+)", self._merge_request),
            (r"repository/commits/(\w+)/merge_requests", self._merged_as),
            (r"packages", self._packages),
            (r"packages/(\d+)/package_files", self._files),
            (r"issues", self._issues),
            (r"issues/(\d+)", self._issue),
        ):
            if found := re.fullmatch(pattern, rest):
                return method(asked, *found.groups())
        return Answer(status=404, document={"message": "404 Not found"})

    def _notes(self, asked: Asked, merge_request: str) -> Answer:
        if asked.method == "POST":
            number = self.note_of(_ME, asked.document["body"], merge_request=int(merge_request))
            return Answer(status=201, document=self.notes[number])
        rows = [one for one in self.notes.values() if one["on"] == int(merge_request)]
        return Answer(document=page(rows, asked))

    def _note(self, asked: Asked, merge_request: str, number: str) -> Answer:
        self.notes[int(number)]["body"] = asked.document["body"]
        return Answer(document=self.notes[int(number)])

    def _merge_request(self, asked: Asked, number: str) -> Answer:
        return Answer(document=self.merge_requests[int(number)])

    def merge(self, number: int, commit: str, *, pipeline: int, **more: Any) -> None:
        """Record that a merge request was merged into main, after a last pipeline."""
        self.merge_requests[number] = {
            "iid": number,
            "state": "merged",
            "labels": [],
            "target_branch": "main",
            "merge_commit_sha": None,
            "squash_commit_sha": commit,
            "sha": "fedcba9876543210",
            "head_pipeline": {
                "id": pipeline,
                "ref": f"refs/merge-requests/{number}/merge",
                "source": "merge_request_event",
            },
            **more,
        }

    def _merged_as(self, asked: Asked, commit: str) -> Answer:
        rows = [one for one in self.merge_requests.values() if one.get("squash_commit_sha") == commit]
        return Answer(document=page(rows, asked))

    def _packages(self, asked: Asked) -> Answer:
        named = (asked.query["package_name"], asked.query["package_version"])
        rows = [one for one in self.files if (one["name"], one["version"]) == named]
        found = [{"id": 1, "name": named[0], "version": named[1]}] if rows else []
        return Answer(document=page(found, asked))

    def _files(self, asked: Asked, package: str) -> Answer:
        return Answer(document=page(self.files, asked))

    def _issues(self, asked: Asked) -> Answer:
        if asked.method == "POST":
            number = 40 + len(self.issues)
            self.issues[number] = {
                **asked.document,
                "iid": number,
                "state": "opened",
                "author": {"id": _ME},
            }
            return Answer(status=201, document=self.issues[number])
        rows = [
            one
            for one in self.issues.values()
            if one["state"] == asked.query["state"] and asked.query["labels"] in one["labels"].split(",")
        ]
        return Answer(document=page(rows, asked))

    def _issue(self, asked: Asked, number: str) -> Answer:
        change = dict(asked.document)
        if change.pop("state_event", None) == "close":
            change["state"] = "closed"
        self.issues[int(number)].update(change)
        return Answer(document=self.issues[int(number)])

    def _package(self, asked: Asked, rest: str) -> Answer:
        found = re.fullmatch(r"packages/generic/([\w.+-]+)/(\.?[\w+-]+\.?)+/([\w.-]+)", rest)
        if found is None:
            return Answer(status=400, document={"message": "400 Bad request"})
        if asked.method == "PUT":
            self.packages[rest] = asked.body
            _, _, name, version, file = rest.split("/")
            self.files.append(
                {
                    "name": name,
                    "version": version,
                    "file_name": file,
                    "file_sha256": hashlib.sha256(asked.body).hexdigest(),
                    "pipelines": [{"id": self.pipeline}],
                }
            )
            return Answer(status=201, document={"message": "201 Created"})
        if rest not in self.packages:
            return Answer(status=404, document={"message": "404 Not Found"})
        return Answer(content=self.packages[rest])


@contextmanager
def gitlab() -> Iterator[GitLab]:
    """Serve an empty project."""
    api = GitLab()
    with serving(api) as url:
        api.url = url
        yield api
