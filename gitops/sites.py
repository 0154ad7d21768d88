"""GitHub and GitLab: comments, issues and saved plans by their REST APIs. Standard library only."""

from __future__ import annotations

import io
import json
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

ISSUE_LABEL = "drift"
PREVIEW_LABEL = "preview"
_PAGE = 100
_TIMEOUT = 60.0

Json = Mapping[str, object]


class CiError(Exception):
    """A failure that is printed in one line."""


@dataclass(frozen=True, kw_only=True)
class Written:
    """A comment or issue that exists."""

    number: int
    body: str
    is_ours: bool


@dataclass(frozen=True, kw_only=True)
class Api:
    """A REST API with the header that authorizes each request."""

    url: str
    header: tuple[str, str]

    def send(self, method: str, path: str, body: Json | bytes | None = None) -> bytes:
        """Return the body of the answer. Raises CiError for any answer but 2xx."""
        url = path if path.startswith(("http://", "https://")) else f"{self.url}{path}"
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        request = urllib.request.Request(url, data=data, method=method)  # noqa: S310
        request.add_unredirected_header(*self.header)  # a redirect leads to a storage host: no token for it
        request.add_header("Accept", "application/json")
        request.add_header("User-Agent", "vertex-training")
        if body is not None and not isinstance(body, bytes):
            request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT) as answer:  # noqa: S310
                return bytes(answer.read())
        except urllib.error.HTTPError as error:
            said = " ".join(error.read().decode(errors="replace").split())[:300]
            raise CiError(f"{method} {url}: {error.code} {said}") from error
        except OSError as error:
            raise CiError(f"{method} {url}: {error}") from error

    def rows(self, path: str, key: str | None = None) -> Iterator[Json]:
        """Yield the rows of a list, page by page."""
        page = 1
        while True:
            joint = "&" if "?" in path else "?"
            answer = json.loads(self.send("GET", f"{path}{joint}per_page={_PAGE}&page={page}"))
            rows = cast("list[Json]", answer[key] if key else answer)
            yield from rows
            if len(rows) < _PAGE:
                return
            page += 1


@dataclass(frozen=True, kw_only=True)
class GitHub:
    """A repository on GitHub."""

    api: Api
    repository: str
    pull_request: str = ""
    longest: int = 65_000

    def comments(self) -> Iterator[Written]:
        for row in self.api.rows(self._path(f"issues/{self._number()}/comments")):
            user = cast("Json", row.get("user") or {})
            yield Written(
                number=_int(row["id"]), body=str(row["body"] or ""), is_ours=user.get("type") == "Bot"
            )

    def add_comment(self, body: str) -> None:
        self.api.send("POST", self._path(f"issues/{self._number()}/comments"), {"body": body})

    def edit_comment(self, number: int, body: str) -> None:
        self.api.send("PATCH", self._path(f"issues/comments/{number}"), {"body": body})

    def issues(self) -> Iterator[Written]:
        for row in self.api.rows(self._path(f"issues?state=open&labels={ISSUE_LABEL}")):
            user = cast("Json", row.get("user") or {})
            yield Written(
                number=_int(row["number"]), body=str(row["body"] or ""), is_ours=user.get("type") == "Bot"
            )

    def add_issue(self, title: str, body: str) -> None:
        self.api.send("POST", self._path("issues"), {"title": title, "body": body, "labels": [ISSUE_LABEL]})

    def edit_issue(self, number: int, body: str, *, close: bool) -> None:
        change = {"body": body, **({"state": "closed"} if close else {})}
        self.api.send("PATCH", self._path(f"issues/{number}"), change)

    def fetch(self, name: str, folder: Path) -> bool:
        """Extract the newest artifact of this name. Return whether one was found.

        Artifacts of forks are ignored: their authors choose names and content.
        """
        rows = self.api.rows(self._path(f"actions/artifacts?name={_quoted(name)}"), "artifacts")
        own = [row for row in rows if row["name"] == name and not row["expired"] and _is_own(row)]
        if not own:
            return False
        newest = max(own, key=lambda row: str(row["created_at"]))
        content = self.api.send("GET", str(newest["archive_download_url"]))
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            archive.extractall(folder)
        return True

    def has_preview(self, number: int) -> bool:
        """Return whether the pull request is open and has the label of a preview environment."""
        row = json.loads(self.api.send("GET", self._path(f"pulls/{number}")))
        return row["state"] == "open" and PREVIEW_LABEL in {each["name"] for each in row["labels"]}

    def _path(self, rest: str) -> str:
        return f"/repos/{self.repository}/{rest}"

    def _number(self) -> str:
        if not self.pull_request:
            raise CiError("PULL_REQUEST is not set: it is the number of the pull request.")
        return self.pull_request


@dataclass(frozen=True, kw_only=True)
class GitLab:
    """A project on GitLab. `own` has the job's token, which may only keep and fetch packages."""

    api: Api
    own: Api
    project: str
    merge_request: str = ""
    longest: int = 990_000

    def comments(self) -> Iterator[Written]:
        me = self._me()
        for row in self.api.rows(self._path(f"merge_requests/{self._number()}/notes?sort=asc")):
            author = cast("Json", row["author"])
            yield Written(number=_int(row["id"]), body=str(row["body"]), is_ours=author["id"] == me)

    def add_comment(self, body: str) -> None:
        self.api.send("POST", self._path(f"merge_requests/{self._number()}/notes"), {"body": body})

    def edit_comment(self, number: int, body: str) -> None:
        self.api.send("PUT", self._path(f"merge_requests/{self._number()}/notes/{number}"), {"body": body})

    def issues(self) -> Iterator[Written]:
        me = self._me()
        for row in self.api.rows(self._path(f"issues?state=opened&labels={ISSUE_LABEL}")):
            author = cast("Json", row["author"])
            yield Written(
                number=_int(row["iid"]), body=str(row["description"] or ""), is_ours=author["id"] == me
            )

    def add_issue(self, title: str, body: str) -> None:
        self.api.send(
            "POST", self._path("issues"), {"title": title, "description": body, "labels": ISSUE_LABEL}
        )

    def edit_issue(self, number: int, body: str, *, close: bool) -> None:
        change = {"description": body, **({"state_event": "close"} if close else {})}
        self.api.send("PUT", self._path(f"issues/{number}"), change)

    def keep(self, name: str, file: Path) -> None:
        self.own.send("PUT", self._package(name), file.read_bytes())

    def fetch(self, name: str, folder: Path) -> bool:
        try:
            content = self.own.send("GET", self._package(name))
        except CiError as error:
            if ": 404 " in str(error):
                return False
            raise
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "plan.json").write_bytes(content)
        return True

    def has_preview(self, number: int) -> bool:
        """Return whether the merge request is open and has the label of a preview environment."""
        row = json.loads(self.api.send("GET", self._path(f"merge_requests/{number}")))
        return row["state"] == "opened" and PREVIEW_LABEL in row["labels"]

    def _package(self, name: str) -> str:
        """Return the path of a generic package: the name up to the last dash, then the rest as version."""
        package, _, version = name.rpartition("-")
        return self._path(f"packages/generic/{_quoted(package)}/{_quoted(version)}/plan.json")

    def _path(self, rest: str) -> str:
        return f"/projects/{_quoted(self.project)}/{rest}"

    def _number(self) -> str:
        if not self.merge_request:
            raise CiError("CI_MERGE_REQUEST_IID is not set: this is no pipeline of a merge request.")
        return self.merge_request

    def _me(self) -> object:
        return json.loads(self.api.send("GET", "/user"))["id"]


Site = GitHub | GitLab


def site(environ: Mapping[str, str]) -> Site:
    """Return the site that runs this job, from the variables that it sets."""
    if "GITHUB_REPOSITORY" in environ:
        token = required(environ, "GITHUB_TOKEN")
        return GitHub(
            api=Api(
                url=environ.get("GITHUB_API_URL", "https://api.github.com"),
                header=("Authorization", f"Bearer {token}"),
            ),
            repository=environ["GITHUB_REPOSITORY"],
            pull_request=environ.get("PULL_REQUEST", ""),
        )
    url = required(environ, "CI_API_V4_URL")
    return GitLab(
        api=Api(url=url, header=("PRIVATE-TOKEN", environ.get("GITLAB_TOKEN", ""))),
        own=Api(url=url, header=("JOB-TOKEN", environ.get("CI_JOB_TOKEN", ""))),
        project=required(environ, "CI_PROJECT_ID"),
        merge_request=environ.get("CI_MERGE_REQUEST_IID", ""),
    )


def required(environ: Mapping[str, str], name: str) -> str:
    """Return a variable. Raises CiError if it is not set or empty."""
    if not environ.get(name):
        raise CiError(f"{name} is not set.")
    return environ[name]


def _is_own(artifact: Json) -> bool:
    run = cast("Json", artifact.get("workflow_run") or {})
    return run.get("repository_id") is not None and run["repository_id"] == run.get("head_repository_id")


def _quoted(text: str) -> str:
    return urllib.parse.quote(text, safe="")


def _int(value: object) -> int:
    return int(str(value))
