"""GitHub and GitLab: comments, issues and saved plans by their REST APIs. Standard library only."""

from __future__ import annotations

import hashlib
import io
import json
import re
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

ISSUE_LABEL = "drift"
PREVIEW_LABEL = "preview"
_PAGE = 100
_TIMEOUT = 60.0
_LARGEST_PLAN = 256 * 1024 * 1024
_PLAN_FILE = re.compile(r"[\w-][\w.-]*/plan\.json", re.ASCII)

_UNPLANNED = "the merged files are not those that were planned, or the plan has expired."

Json = Mapping[str, object]


class CiError(Exception):
    """A failure that is printed in one line."""


class NoPlanError(CiError):
    """There is no plan that may be deployed; the message is the reason."""


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
            rows = cast("list[Json]", answer.get(key) if key and isinstance(answer, dict) else answer)
            if not isinstance(rows, list):
                raise CiError(f"GET {self.url}{path}: the answer is not a list.")
            yield from rows
            if len(rows) < _PAGE:
                return
            page += 1


@dataclass(frozen=True, kw_only=True)
class GitHub:
    """A repository on GitHub. `commit`, `branch`, `run` and `event` are those of the run of this job."""

    api: Api
    repository: str
    pull_request: str = ""
    commit: str = ""
    branch: str = ""
    run: str = ""
    event: str = ""
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

    def fetch(self, name: str, folder: Path, *, workflow: str) -> None:
        """Extract the newest plan of this name that a run of `workflow` saved for what was merged.

        Whoever may push a branch may save an artifact of any name, so its name shows nothing: only the run
        that saved it does. A run that was started manually deploys its own plan. Raises NoPlanError.
        """
        rows = self.api.rows(self._path(f"actions/artifacts?name={_quoted(name)}"), "artifacts")
        saved = [row for row in rows if row["name"] == name and not row["expired"]]
        if not saved:
            raise NoPlanError(_UNPLANNED)
        is_planned = self._is_of_this_run if self.event == "workflow_dispatch" else self._of_merge(workflow)
        own = [row for row in saved if is_planned(_object(row, "workflow_run"))]
        if not own:
            raise NoPlanError(f"what has this name was not saved by {workflow} for what was merged.")
        newest = max(own, key=lambda row: str(row["created_at"]))
        content = self.api.send("GET", str(newest["archive_download_url"]))
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for member in archive.infolist():
                if _PLAN_FILE.fullmatch(member.filename) and member.file_size <= _LARGEST_PLAN:
                    archive.extract(member, folder)

    def _is_of_this_run(self, run: Json) -> bool:
        return bool(self.run) and str(run.get("id")) == self.run

    def _of_merge(self, workflow: str) -> Callable[[Json], bool]:
        """Return whether a run is one of the workflow for the pull request that was merged."""
        if not self.commit:
            raise CiError("GITHUB_SHA is not set: it is the commit that was merged.")
        pulls = self.api.rows(self._path(f"commits/{_quoted(self.commit)}/pulls"))
        merged = [row for row in pulls if self._is_merged(row)]
        if not merged:
            raise NoPlanError(f"no pull request was merged into {self.branch} as {self.commit[:12]}.")
        heads = {(_object(row, "head")["ref"], _object(row, "head")["sha"]) for row in merged}
        for row in merged:
            self._check_bases(row)

        def is_planned(run: Json) -> bool:
            if (run.get("head_branch"), run.get("head_sha")) not in heads or not _is_own(run):
                return False
            found = json.loads(self.api.send("GET", self._path(f"actions/runs/{_quoted(str(run['id']))}")))
            file = str(found.get("path")).partition("@")[0]
            return found.get("event") == "pull_request" and file == f".github/workflows/{workflow}"

        return is_planned

    def _is_merged(self, pull: Json) -> bool:
        is_here = bool(pull.get("merged_at")) and pull.get("merge_commit_sha") == self.commit
        return is_here and _object(pull, "base").get("ref") == self.branch

    def _check_bases(self, merged: Json) -> None:
        """Raise NoPlanError if the merged commits also have a pull request into another branch.

        A run is for the merge of both branches, and that other branch may have another workflow.
        """
        head = _object(merged, "head")
        query = _quoted(f"{self.repository.partition('/')[0]}:{head['ref']}")
        for row in self.api.rows(self._path(f"pulls?state=all&head={query}")):
            base = _object(row, "base").get("ref")
            if _object(row, "head").get("sha") == head["sha"] and base != self.branch:
                raise NoPlanError(
                    f"pull request {row['number']} has the same commits as the merged one, but is for "
                    f"{base}: their plans cannot be told apart."
                )

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
    """A project on GitLab. `own` has the job's token, which may only keep and fetch packages.

    `pipeline`, `commit` and `branch` are those of this job. `plans_again` is true if the pipeline has made a
    plan of its own.
    """

    api: Api
    own: Api
    project: str
    merge_request: str = ""
    pipeline: str = ""
    commit: str = ""
    branch: str = ""
    plans_again: bool = False
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

    def fetch(self, name: str, folder: Path) -> None:
        """Write the plan of this name that the pipeline of the merged merge request has kept.

        A job of any branch may keep a package of any name. GitLab records the pipeline of each file of it.
        Raises NoPlanError.
        """
        kept = [row for package in self._packages(name) for row in self._plan_files(package)]
        if not kept:
            raise NoPlanError(_UNPLANNED)
        accepted = {self.pipeline} if self.plans_again else self._pipelines_of_merge()
        hashes = {row.get("file_sha256") for row in kept if _pipelines(row) & accepted}
        if not hashes:
            raise NoPlanError("none of the kept ones is by the pipeline of the merge request.")
        content = self.own.send("GET", self._package(name))
        if hashlib.sha256(content).hexdigest() not in hashes:
            raise NoPlanError("a job of another pipeline has replaced it.")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "plan.json").write_bytes(content)

    def _packages(self, name: str) -> Iterator[Json]:
        package, _, version = name.rpartition("-")
        query = f"package_type=generic&package_name={_quoted(package)}&package_version={_quoted(version)}"
        for row in self.api.rows(self._path(f"packages?{query}")):
            if (row.get("name"), row.get("version")) == (package, version):
                yield row

    def _plan_files(self, package: Json) -> Iterator[Json]:
        for row in self.api.rows(self._path(f"packages/{package['id']}/package_files")):
            if row.get("file_name") == "plan.json":
                yield row

    def _pipelines_of_merge(self) -> set[str]:
        """Return the id of the last pipeline of the merge request that was merged. Raises NoPlanError."""
        if not self.commit:
            raise CiError("CI_COMMIT_SHA is not set: it is the commit that was merged.")
        found = set()
        for row in self.api.rows(self._path(f"repository/commits/{_quoted(self.commit)}/merge_requests")):
            commits = {row.get(key) for key in ("merge_commit_sha", "squash_commit_sha", "sha")}
            is_here = row.get("state") == "merged" and row.get("target_branch") == self.branch
            if not is_here or self.commit not in commits:
                continue
            number = row["iid"]
            merged = json.loads(self.api.send("GET", self._path(f"merge_requests/{number}")))
            last = cast("Json", merged.get("head_pipeline") or {})
            refs = {f"refs/merge-requests/{number}/{kind}" for kind in ("head", "merge")}
            if last.get("source") == "merge_request_event" and last.get("ref") in refs:
                found.add(str(last["id"]))
        if not found:
            raise NoPlanError(
                f"no merge request with a pipeline was merged into {self.branch} as {self.commit[:12]}."
            )
        return found

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
            commit=environ.get("GITHUB_SHA", ""),
            branch=environ.get("GITHUB_REF_NAME") or "main",
            run=environ.get("GITHUB_RUN_ID", ""),
            event=environ.get("GITHUB_EVENT_NAME", ""),
        )
    url = required(environ, "CI_API_V4_URL")
    return GitLab(
        api=Api(url=url, header=("PRIVATE-TOKEN", environ.get("GITLAB_TOKEN", ""))),
        own=Api(url=url, header=("JOB-TOKEN", environ.get("CI_JOB_TOKEN", ""))),
        project=required(environ, "CI_PROJECT_ID"),
        merge_request=environ.get("CI_MERGE_REQUEST_IID", ""),
        pipeline=environ.get("CI_PIPELINE_ID", ""),
        commit=environ.get("CI_COMMIT_SHA", ""),
        branch=environ.get("CI_COMMIT_BRANCH", ""),
        plans_again=environ.get("PLAN_AGAIN") == "yes",
    )


def required(environ: Mapping[str, str], name: str) -> str:
    """Return a variable. Raises CiError if it is not set or empty."""
    if not environ.get(name):
        raise CiError(f"{name} is not set.")
    return environ[name]


def _is_own(run: Json) -> bool:
    return run.get("repository_id") is not None and run["repository_id"] == run.get("head_repository_id")


def _object(row: Json, name: str) -> Json:
    return cast("Json", row.get(name) or {})


def _pipelines(file: Json) -> set[str]:
    return {str(each["id"]) for each in cast("list[Json]", file.get("pipelines") or [])}


def _quoted(text: str) -> str:
    return urllib.parse.quote(text, safe="")


def _int(value: object) -> int:
    return int(str(value))
