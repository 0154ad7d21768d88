"""The jobs of a .gitlab-ci.yml, and a runner that executes their `script` lines in a clean clone."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

_KEYWORDS = {"workflow", "stages", "variables", "default", "include"}


@dataclass(frozen=True, kw_only=True)
class Job:
    """A job with everything that it extends; a job with a matrix is one for each combination."""

    name: str
    content: Mapping[str, Any]
    variables: Mapping[str, str]

    @property
    def lines(self) -> tuple[str, ...]:
        return (*self.content.get("before_script", ()), *self.content["script"])


@dataclass(frozen=True, kw_only=True)
class Ended:
    """A job that has run: the lines that ran, its exit code, and what they printed."""

    lines: tuple[str, ...]
    code: int
    output: str

    def ok(self) -> Ended:
        assert self.code == 0, self.output
        return self


def jobs(file: Path) -> dict[str, Job]:
    """Return the jobs of a file by name; `plan: [dev]` is a job of a matrix."""
    document = yaml.safe_load(file.read_text())
    common = document.get("variables", {})
    found = {}
    for name in document:
        if name in _KEYWORDS or name.startswith("."):
            continue
        content = _extended(document, name)
        for suffix, variables in _combinations(content):
            merged = {**common, **content.get("variables", {}), **variables}
            found[f"{name}{suffix}"] = Job(name=name, content=content, variables=merged)
    return found


def _extended(document: Mapping[str, Any], name: str) -> dict[str, Any]:
    own = dict(document[name])
    base = own.pop("extends", None)
    return _merged(_extended(document, base), own) if base else own


def _merged(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Merge as GitLab does: mappings key by key, while a list replaces a list."""
    result = dict(base)
    for key, value in own.items():
        both = isinstance(value, dict) and isinstance(result.get(key), dict)
        result[key] = _merged(result[key], value) if both else value
    return result


def _combinations(content: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, str]]]:
    matrix = content.get("parallel", {}).get("matrix")
    if not matrix:
        yield "", {}
        return
    for row in matrix:
        ((name, values),) = row.items()
        for value in values:
            yield f": [{value}]", {name: value}


@dataclass
class GitLabRunner:
    """Runs jobs, each in a clone of its own. Artifacts of a pipeline go from job to job."""

    origin: Path
    folder: Path
    environment: Mapping[str, str]
    artifacts: Path = field(init=False)
    ran: int = 0

    def __post_init__(self) -> None:
        self.artifacts = self.folder / "artifacts"

    def new_pipeline(self) -> None:
        shutil.rmtree(self.artifacts, ignore_errors=True)

    def run(self, job: Job, ref: str, predefined: Mapping[str, str]) -> Ended:
        """Run the lines of a job in one shell, as a runner does, up to the first that fails."""
        self.ran += 1
        clone = self.folder / "builds" / str(self.ran)
        subprocess.run(
            ["git", "clone", "--quiet", "--branch", ref, str(self.origin), str(clone)],
            env=dict(self.environment),
            check=True,
        )
        if self.artifacts.exists():
            shutil.copytree(self.artifacts, clone, dirs_exist_ok=True)
        given = {**predefined, "CI_PROJECT_DIR": str(clone)}
        variables = {
            name: _expanded(value, {**job.variables, **given}) for name, value in job.variables.items()
        }
        noted = self.folder / f"lines-{self.ran}"
        script = "set -eo pipefail\n" + "".join(
            f"{line}\necho {shlex.quote(line)} >> {shlex.quote(str(noted))}\n" for line in job.lines
        )
        done = subprocess.run(
            ["bash"],
            input=script,
            cwd=clone,
            env={**self.environment, **given, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
        )
        for name in job.content.get("artifacts", {}).get("paths", ()):
            if (clone / name).exists():
                shutil.copytree(clone / name, self.artifacts / name, dirs_exist_ok=True)
        lines = tuple(noted.read_text().splitlines()) if noted.exists() else ()
        return Ended(lines=lines, code=done.returncode, output=done.stdout)


def _expanded(text: str, variables: Mapping[str, str]) -> str:
    return re.sub(r"\$(\w+)", lambda found: variables.get(found[1], ""), str(text))
