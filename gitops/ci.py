"""Report to GitHub or GitLab from a pipeline: comments, issues and saved plans. Standard library only.

The workflows in gitops/github and gitops/gitlab run it:

    python3 gitops/ci.py comment plans       one comment on the pull request, updated in place
    python3 gitops/ci.py issue --stack prod --code 1 --report drift.md     one issue for the drift of a stack
    python3 gitops/ci.py keep --name NAME FILE    keep a saved plan (GitLab; GitHub has an action for this)
    python3 gitops/ci.py fetch --name NAME --to FOLDER      fetch the saved plan of a merged pull request
    python3 gitops/ci.py ended stacks.json        the stacks pr-NUMBER whose pull request is closed
    python3 gitops/ci.py google-credentials --to FOLDER     GitLab: the file with which Google's clients log in

Everything else that it needs is in the variables that both services set for a job.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import shutil
import sys
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, cast

ISSUE_LABEL = "drift"
PREVIEW_LABEL = "preview"
_PAGE = 100
_RESERVE = 1000
"""Room for what is added to plans: markers, the footer, and the ends of what is cut."""
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


class Site(Protocol):
    """What the commands need from GitHub or GitLab."""

    longest: int

    def comments(self) -> Iterator[Written]: ...

    def add_comment(self, body: str) -> None: ...

    def edit_comment(self, number: int, body: str) -> None: ...

    def issues(self) -> Iterator[Written]: ...

    def add_issue(self, title: str, body: str) -> None: ...

    def edit_issue(self, number: int, body: str, *, close: bool) -> None: ...

    def keep(self, name: str, file: Path) -> None: ...

    def fetch(self, name: str, folder: Path) -> bool: ...

    def has_preview(self, number: int) -> bool: ...


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

    def keep(self, name: str, file: Path) -> None:
        raise CiError("On GitHub, keep a plan with the action actions/upload-artifact.")

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


def site(environ: Mapping[str, str]) -> Site:
    """Return the site that runs this job, from the variables that it sets."""
    if "GITHUB_REPOSITORY" in environ:
        token = _required(environ, "GITHUB_TOKEN")
        return GitHub(
            api=Api(
                url=environ.get("GITHUB_API_URL", "https://api.github.com"),
                header=("Authorization", f"Bearer {token}"),
            ),
            repository=environ["GITHUB_REPOSITORY"],
            pull_request=environ.get("PULL_REQUEST", ""),
        )
    url = _required(environ, "CI_API_V4_URL")
    return GitLab(
        api=Api(url=url, header=("PRIVATE-TOKEN", environ.get("GITLAB_TOKEN", ""))),
        own=Api(url=url, header=("JOB-TOKEN", environ.get("CI_JOB_TOKEN", ""))),
        project=_required(environ, "CI_PROJECT_ID"),
        merge_request=environ.get("CI_MERGE_REQUEST_IID", ""),
    )


def comment(at: Site, folder: Path, of: str, footer: str) -> str:
    """Write the plans in FOLDER/STACK into the comment for the project `of`, or add that comment."""
    stacks = sorted(each for each in folder.iterdir() if each.is_dir()) if folder.is_dir() else []
    if not stacks:
        raise CiError(f"There is no plan in {folder}.")
    marker = f"<!-- vertex-training plan of {of} -->"
    room = at.longest - _RESERVE
    plans = [_plan(each) for each in stacks]
    if sum(map(len, plans)) > room:
        plans = [shortened(each, room // len(plans)) for each in plans]
    body = "\n\n".join([marker, *plans, footer])
    found = next((one for one in at.comments() if _marked(one, marker)), None)
    if found is None:
        at.add_comment(body)
        return "The plan is a new comment."
    at.edit_comment(found.number, body)
    return f"Comment {found.number} is updated."


def issue(at: Site, stack: str, code: int, report: str, footer: str) -> str:
    """Open or update the issue for the drift of a stack. Close it if the exit code says that there is none."""
    marker = f"<!-- vertex-training drift of {stack} -->"
    body = "\n\n".join([marker, shortened(report, at.longest - _RESERVE), footer])
    found = next((one for one in at.issues() if _marked(one, marker)), None)
    if found is not None:
        at.edit_issue(found.number, body, close=code == 0)
        return f"Issue {found.number} is {'closed' if code == 0 else 'updated'}."
    if code == 0:
        return "No drift, and no open issue."
    at.add_issue(f"Drift in stack {stack}", body)
    return "A new issue is open."


def ended(at: Site, stacks: Sequence[Json]) -> list[str]:
    """Return the names of preview stacks whose pull request is closed or has lost its label."""
    names = [str(row["name"]).rpartition("/")[2] for row in stacks]
    numbers = [(name, int(found[1])) for name in names if (found := re.fullmatch(r"pr-(\d+)", name))]
    return [name for name, number in numbers if not at.has_preview(number)]


def shortened(text: str, longest: int) -> str:
    """Return the text, cut at the end of a line if it is too long, with code blocks and details closed."""
    if len(text) <= longest:
        return text
    kept = text[:longest].rpartition("\n")[0]
    if kept.count("\n```") % 2:
        kept += "\n```"
    kept += "\n</details>" * (kept.count("<details>") - kept.count("</details>"))
    return f"{kept}\n\nThe rest is too long for a comment: see the files of this pipeline."


def google_credentials(environ: Mapping[str, str], folder: Path) -> Path:
    """Write the credentials of workload identity federation for GitLab's token. Return the file."""
    provider = _required(environ, "WORKLOAD_IDENTITY_PROVIDER")
    account = _required(environ, "SERVICE_ACCOUNT")
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    token, file = folder / "gitlab-token", folder / "google-credentials.json"
    _write_private(token, _required(environ, "GOOGLE_ID_TOKEN"))
    iam = "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts"
    document = {
        "type": "external_account",
        "audience": f"//iam.googleapis.com/{provider}",
        "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
        "token_url": "https://sts.googleapis.com/v1/token",
        "service_account_impersonation_url": f"{iam}/{account}:generateAccessToken",
        "credential_source": {"file": str(token)},
    }
    _write_private(file, json.dumps(document))
    return file


def main(arguments: Sequence[str], environ: Mapping[str, str]) -> int:
    """Run a command and return its exit code."""
    options = _parser().parse_args(arguments)
    try:
        if said := _run(options, environ):
            print(said)  # noqa: T201
    except CiError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def _run(options: argparse.Namespace, environ: Mapping[str, str]) -> str:
    if options.command == "google-credentials":
        return str(google_credentials(environ, options.to))
    at = site(environ)
    match options.command:
        case "comment":
            return comment(at, options.plans, environ.get("FOLDER", "."), _footer(environ))
        case "issue":
            report = options.report.read_text() if options.report.exists() else ""
            errors = options.errors.read_text() if options.errors and options.errors.exists() else ""
            text = report.strip() or _failure(f"Stack {options.stack}: drift could not be read", errors)
            return issue(at, options.stack, options.code, text, _footer(environ))
        case "keep":
            at.keep(options.name, options.file)
            return f"{options.file} is kept as {options.name}."
        case "ended":
            return "\n".join(ended(at, json.loads(options.stacks.read_text())))
    shutil.rmtree(options.to, ignore_errors=True)
    if not at.fetch(options.name, options.to):
        raise CiError(
            f"There is no saved plan {options.name}: the merged files are not those that were planned, "
            f"or the plan has expired. Nothing was applied. {environ.get('REMEDY', '')}".rstrip()
        )
    return f"{options.name} is in {options.to}."


def _plan(folder: Path) -> str:
    plan, errors = folder / "plan.md", folder / "errors.txt"
    text = plan.read_text().strip() if plan.exists() else ""
    text = re.sub(r"\A<!--.*?-->\s*", "", text)  # the marker of a comment with this plan alone
    said = errors.read_text() if errors.exists() else ""
    return text or _failure(f"Stack {folder.name}: the plan failed", said)


def _failure(title: str, said: str) -> str:
    fence = "```"
    while fence in said:
        fence += "`"
    return f"### {title}\n\n{fence}\n{said.strip() or 'It printed nothing: see the log of this pipeline.'}\n{fence}"


def _footer(environ: Mapping[str, str]) -> str:
    if "GITHUB_RUN_ID" in environ:
        server, repository = environ.get("GITHUB_SERVER_URL", ""), environ["GITHUB_REPOSITORY"]
        url = f"{server}/{repository}/actions/runs/{environ['GITHUB_RUN_ID']}"
        commit = environ.get("COMMIT") or environ.get("GITHUB_SHA", "")
    else:
        url, commit = environ.get("CI_PIPELINE_URL", ""), environ.get("CI_COMMIT_SHA", "")
    return f"<sub>Commit {commit[:12]}, [pipeline]({url}).</sub>"


def _marked(one: Written, marker: str) -> bool:
    return one.is_ours and one.body.startswith(marker)


def _is_own(artifact: Json) -> bool:
    run = cast("Json", artifact.get("workflow_run") or {})
    return run.get("repository_id") is not None and run["repository_id"] == run.get("head_repository_id")


def _write_private(file: Path, text: str) -> None:
    file.unlink(missing_ok=True)
    with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as stream:  # noqa: PTH123
        stream.write(text)


def _required(environ: Mapping[str, str], name: str) -> str:
    if not environ.get(name):
        raise CiError(f"{name} is not set.")
    return environ[name]


def _quoted(text: str) -> str:
    return urllib.parse.quote(text, safe="")


def _int(value: object) -> int:
    return int(str(value))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="ci.py", description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("comment", help="write the plans into one comment of the pull request")
    one.add_argument("plans", type=Path, help="folder with STACK/plan.md and STACK/errors.txt")
    one = commands.add_parser("issue", help="open, update or close the issue for the drift of a stack")
    one.add_argument("--stack", required=True)
    one.add_argument("--code", type=int, required=True, help="exit code of `vertex-training drift`")
    one.add_argument("--report", type=Path, required=True)
    one.add_argument("--errors", type=Path)
    one = commands.add_parser("keep", help="keep a saved plan (GitLab)")
    one.add_argument("--name", required=True)
    one.add_argument("file", type=Path)
    one = commands.add_parser("fetch", help="fetch a saved plan")
    one.add_argument("--name", required=True)
    one.add_argument("--to", type=Path, required=True)
    one = commands.add_parser("ended", help="list the preview stacks of closed pull requests")
    one.add_argument("stacks", type=Path, help="output of `pulumi stack ls --json`")
    one = commands.add_parser("google-credentials", help="write the credentials file for GitLab's token")
    one.add_argument("--to", type=Path, required=True)
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
