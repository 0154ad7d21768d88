"""Report to GitHub or GitLab from a pipeline: comments, issues and saved plans. Standard library only.

The workflows in gitops/github and gitops/gitlab run it:

    ci.py comment plans                           one comment on the pull request, updated in place
    ci.py issue --stack S --code N --report FILE  one issue for the drift of a stack
    ci.py keep --name NAME FILE                   keep a saved plan (GitLab; GitHub has an action for this)
    ci.py fetch --name NAME --to FOLDER           fetch the saved plan of what was merged
    ci.py ended stacks.json                       the stacks pr-NUMBER whose pull request is closed
    ci.py google-credentials --to FOLDER          GitLab: the file with which Google's clients log in

Everything else that it needs is in the variables that both services set for a job.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from sites import CiError, GitLab, Json, NoPlanError, Site, Written, required, site

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_RESERVE = 1000
"""Characters for what is added to plans: markers, the footer, and the ends of what is cut."""


def comment(at: Site, folder: Path, of: str, footer: str) -> str:
    """Write the plans in FOLDER/STACK into the comment for the project `of`, or add that comment."""
    stacks = sorted(each for each in folder.iterdir() if each.is_dir()) if folder.is_dir() else []
    if not stacks:
        raise CiError(f"There is no plan in {folder}.")
    marker = f"<!-- vertex-training plan of {of} -->"
    longest = at.longest - _RESERVE
    plans = [_plan(each) for each in stacks]
    if sum(map(len, plans)) > longest:
        plans = [shortened(each, longest // len(plans)) for each in plans]
    body = "\n\n".join([marker, *plans, footer])
    found = next((one for one in at.comments() if _marked(one, marker)), None)
    if found is None:
        at.add_comment(body)
        return "The plan is a new comment."
    at.edit_comment(found.number, body)
    return f"Comment {found.number} is updated."


def issue(at: Site, stack: str, code: int, report: str, footer: str) -> str:
    """Open or update the issue for the drift of a stack, or close it if the exit code is 0 (no drift)."""
    stack = _plain(stack)
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
    return f"{kept}{_ends(kept)}\n\nThe rest is too long for a comment: see the files of this pipeline."


def _ends(text: str) -> str:
    """Return the lines that close the code block and the details that a Markdown text leaves open."""
    fence, details = "", 0
    for line in re.split(r"\r\n|\n|\r", text):
        found = _FENCE.match(line)
        if fence:
            if found and found[1].startswith(fence) and not line[found.end() :].strip(" \t"):
                fence = ""
        elif found and not (found[1][0] == "`" and "`" in line[found.end() :]):
            fence = found[1]
        else:
            details += line.count("<details>") - line.count("</details>")
    return (f"\n{fence}" if fence else "") + "\n</details>" * details


def google_credentials(environ: Mapping[str, str], folder: Path) -> Path:
    """Write the credentials of workload identity federation for GitLab's token. Return the file."""
    provider = required(environ, "WORKLOAD_IDENTITY_PROVIDER")
    account = required(environ, "SERVICE_ACCOUNT")
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    token, file = folder / "gitlab-token", folder / "google-credentials.json"
    _write_private(token, required(environ, "GOOGLE_ID_TOKEN"))
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
            return comment(at, options.plans, environ.get("FOLDER") or ".", _footer(environ))
        case "issue":
            report = options.report.read_text() if options.report.exists() else ""
            errors = options.errors.read_text() if options.errors and options.errors.exists() else ""
            text = report.strip() or _failure(
                f"Stack {_plain(options.stack)}: drift could not be read", errors
            )
            return issue(at, options.stack, options.code, text, _footer(environ))
        case "keep":
            if not isinstance(at, GitLab):
                raise CiError("On GitHub, keep a plan with the action actions/upload-artifact.")
            at.keep(options.name, options.file)
            return f"{options.file} is kept as {options.name}."
        case "ended":
            return "\n".join(ended(at, json.loads(options.stacks.read_text())))
    _remove(options.to)
    try:
        if isinstance(at, GitLab):
            at.fetch(options.name, options.to)
        else:
            at.fetch(options.name, options.to, workflow=options.workflow)
    except NoPlanError as error:
        raise CiError(
            f"There is no saved plan {options.name}: {error} Nothing was applied. "
            f"{environ.get('REMEDY', '')}".rstrip()
        ) from error
    return f"{options.name} is in {options.to}."


def _remove(folder: Path) -> None:
    """Remove the folder of an earlier plan. Raises CiError for the folder of a project."""
    place = folder.resolve()
    if Path.cwd().is_relative_to(place) or any((place / name).exists() for name in (".git", "Pulumi.yaml")):
        raise CiError(
            f"--to {folder}: fetch deletes this folder first, and a project is in it. Nothing was deleted. "
            "Name a folder for the plan alone, such as --to plans."
        )
    shutil.rmtree(folder, ignore_errors=True)


def _plan(folder: Path) -> str:
    plan, errors = folder / "plan.md", folder / "errors.txt"
    text = plan.read_text().strip() if plan.exists() else ""
    text = re.sub(r"\A<!--.*?-->\s*", "", text)  # the marker of a comment with this plan alone
    said = errors.read_text() if errors.exists() else ""
    return text or _failure(f"Stack {_plain(folder.name)}: the plan failed", said)


def _failure(title: str, said: str) -> str:
    fence = "```"
    while fence in said:
        fence += "`"
    text = said.strip() or "It printed nothing: see the log of this pipeline."
    return f"### {title}\n\n{fence}\n{text}\n{fence}"


def _plain(name: str) -> str:
    """Return the name of a stack without signs that a comment obeys."""
    return re.sub(r"[^\w./-]", "?", name)


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


def _write_private(file: Path, text: str) -> None:
    file.unlink(missing_ok=True)
    with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as stream:  # noqa: PTH123
        stream.write(text)


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
    one.add_argument("--workflow", default="plan.yml", help="GitHub: file of the workflow that saves plans")
    one = commands.add_parser("ended", help="list the preview stacks of closed pull requests")
    one.add_argument("stacks", type=Path, help="output of `pulumi stack ls --json`")
    one = commands.add_parser("google-credentials", help="write the credentials file for GitLab's token")
    one.add_argument("--to", type=Path, required=True)
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
