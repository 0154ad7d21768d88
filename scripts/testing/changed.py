"""Choose the tests of a change by one table: from changed paths to the tests that may see the change."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from scripts.report import ChoreError

EVERYTHING = ("tests",)

_EMULATOR = "providers/vertex-emulator/src/vertex_emulator/"
_CLIENT = "providers/pulumi-vertex-training/src/pulumi_vertex_training/"
_PAGES = ("tests/setup", "tests/parity")
_UNITS = (
    "tests/pulumi_vertex_training",
    *("tests/vertex_emulator/jobs/tuning", "tests/vertex_emulator/jobs/custom/checks"),
)
"""The client's own tests, and others that use its code."""

_ENGINE = (
    "tests/engine",
    "tests/examples",
    "tests/infra",
    "tests/gitops",
    "tests/soak",
    "tests/clients/vertex",
)
_COMMAND = (
    *("tests/engine/cli", "tests/engine/costs", "tests/engine/policies", "tests/engine/promotion"),
    *("tests/engine/pages", "tests/engine/program/test_without_extras.py"),
    *("tests/gitops", "tests/infra", "tests/ui"),
)
_EMULATED = ("tests/vertex_emulator", "tests/clients", "tests/suites")

_LEAVES = (
    *("services/artifact_registry", "services/cloud_scheduler", "services/datasets", "services/endpoints"),
    *("services/metadata", "services/models", "services/notebooks", "services/project_services"),
    *("services/quotas", "services/secret_manager", "services/service_usage", "services/tensorboards"),
    *("jobs/notifications", "jobs/pipelines", "jobs/tuning", "server/permissions", "daemon/archive"),
)
"""Packages of the emulator that no other part of it uses, except for its process."""

TABLE: tuple[tuple[str, tuple[str, ...]], ...] = (
    # What every process has, or every test:
    ("providers/vertex-training/", EVERYTHING),
    ("tests/support/", EVERYTHING),
    ("tests/conftest.py", EVERYTHING),
    # What replicas import:
    (
        "providers/vertex-cluster/",
        (*_UNITS, "tests/vertex_cluster", "tests/vertex_emulator", "tests/examples", *_PAGES),
    ),
    # The emulator:
    *(
        (
            f"{_EMULATOR}{name}/",
            (*_EMULATED, *_UNITS, "tests/engine/kinds", "tests/engine/cli", *_PAGES),
        )
        for name in _LEAVES
    ),
    (
        "providers/vertex-emulator/",
        (*_EMULATED, *_UNITS, *_ENGINE, "tests/ui", "tests/vertex_cluster", *_PAGES),
    ),
    # The client, from the pages of the dashboard to what every resource has:
    (f"{_CLIENT}ui/", ("tests/ui", "tests/engine/pages", *_PAGES)),
    *(
        (f"{_CLIENT}{name}/", (*_UNITS, *_COMMAND, "tests/clients/vertex", *_PAGES))
        for name in ("cli", "costs", "documents", "preflight", "views")
    ),
    (
        f"{_CLIENT}environment/",
        (*_UNITS, "tests/infra", "tests/engine/environments", *_PAGES),
    ),
    ("providers/pulumi-vertex-training/", (*_UNITS, *_ENGINE, "tests/ui", *_PAGES)),
    # Programs and pages:
    ("infra/", ("tests/infra", "tests/digits", "tests/engine", *_PAGES)),
    ("environment/", ("tests/infra", "tests/pulumi_vertex_training/environment", "tests/engine", *_PAGES)),
    ("examples/", ("tests/examples", "tests/digits", "tests/engine/frameworks", *_PAGES)),
    ("gitops/", ("tests/gitops", *_PAGES)),
    ("policies/", ("tests/engine/policies", "tests/pulumi_vertex_training/cli", *_PAGES)),
    ("templates/", ("tests/setup", "tests/engine/program", "tests/engine/pages")),
    ("scripts/", (*_PAGES, "tests/suites", "tests/soak", "tests/engine/pages")),
    ("docs/", (*_PAGES, "tests/pulumi_vertex_training/cli", "tests/engine/pages")),
    ("README.md", ("tests/setup", "tests/engine/pages/test_readme_programs.py")),
    *((name, ("tests/setup",)) for name in ("CONTRIBUTING.md", "CHANGELOG.md", "mkdocs.yml", "Makefile")),
    (".github/", ("tests/setup", "tests/gitops")),
    (".ci/", ("tests/setup",)),
    # A test runs itself, see `chosen`; the parity page names tests:
    ("tests/", ("tests/setup/checks/test_generated_files.py",)),
)
"""The first row whose path begins a changed path counts. Other paths, such as lock files, mean everything."""


def changed_paths(root: Path, base: str) -> list[str]:
    """Return the paths that differ from the common ancestor with `base`, committed or not.

    Raises ChoreError if git does not know `base`.
    """
    start = _git(
        root, "merge-base", base, "HEAD", failure=f"There is no commit {base}. Name one: --changed=HEAD~3"
    )
    tracked = _git(root, "diff", "--name-only", "-z", start.strip())
    new = _git(root, "ls-files", "--others", "--exclude-standard", "-z")
    return sorted({path for path in (tracked + new).split("\0") if path})


def default_base(root: Path) -> str:
    """Return what a change is compared with: the main branch of the remote, if there is one."""
    base = _git(root, "rev-parse", "--verify", "--quiet", "origin/main", may_fail=True)
    return "origin/main" if base else "HEAD"


def chosen(root: Path, paths: Sequence[str]) -> tuple[str, ...]:
    """Return the test folders and files for changed paths; `EVERYTHING` if one may concern all tests."""
    selected: set[str] = set()
    for path in paths:
        folders = next((folders for start, folders in TABLE if path.startswith(start)), EVERYTHING)
        if folders == EVERYTHING:
            return EVERYTHING
        selected |= set(folders) | _own_tests(path)
    return tuple(sorted(each for each in selected if (root / each).exists()))


def _own_tests(path: str) -> set[str]:
    """Return a changed test file itself, or the folder of another file of tests."""
    if not path.startswith("tests/"):
        return set()
    name = path.rpartition("/")[2]
    return {path} if name.startswith("test_") else {path.rpartition("/")[0]}


def below(folders: Iterable[str]) -> str:
    """Return the folders in words."""
    return ", ".join(folders) or "no tests"


def _git(root: Path, *arguments: str, failure: str = "", may_fail: bool = False) -> str:
    done = subprocess.run(  # noqa: S603  git of the user's PATH
        ["git", *arguments],  # noqa: S607
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode and not may_fail:
        raise ChoreError(failure or f"git {arguments[0]} failed: {done.stderr.strip()}")
    return "" if done.returncode else done.stdout
