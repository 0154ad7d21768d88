"""Run tests, checks and benchmarks."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from scripts import environment
from scripts.layout import Layout
from scripts.processes import run_openly, run_quietly
from scripts.pulumi_cli import installed
from scripts.report import ChoreError, Report
from scripts.setup import python_packages
from scripts.testing import command as testing
from scripts.tools import (
    client_tools,
    google_clients,
    policy_pack,
    pulumi_languages,
    pytorch_client,
    tensorflow_client,
)

_WRITTEN = (
    *("providers", "infra", "environment", "examples", "templates", "gitops", "scripts", "docs"),
    *("policies/__main__.py", "policies/install.py", "policies/README.md"),
    *("README.md", "AGENTS.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"),
)
"""Folders and files whose words are checked; tests hold misspelt words on purpose."""

_WORKFLOWS = tuple(f".github/workflows/{name}.yml" for name in ("ci", "docs", "nightly"))

_PROGRAMS = {"infra": "infra", "environment": "environment", "template": "templates/vertex-training"}
"""Pulumi programs, which must pass the strict checks of mypy and pyright, as a user's own program would."""


def test(layout: Layout, report: Report, *, arguments: Sequence[str]) -> int:
    """Run tests with the Pulumi CLI on PATH. In CI, install all client tools first."""
    python_packages.ensure(layout, report, development=True)
    if os.environ.get("CI"):
        install_tools(layout, report)
    return testing.run(layout, report, env=_environment(layout, report), arguments=arguments)


def install_tools(layout: Layout, report: Report) -> None:
    """Install the other programs that tests run as far as possible, some of them with the Python of .venv."""
    client_tools.ensure(layout, report)
    client_tools.ensure_yaml_host(layout, report)
    pulumi_languages.ensure(layout, report)
    pytorch_client.ensure(layout, report)
    google_clients.ensure(layout, report)
    client_tools.ensure_browser(layout, report)
    client_tools.ensure_font(layout, report)
    tensorflow_client.ensure(layout, report)
    policy_pack.ensure_for_tests(layout, report)


def bench(layout: Layout, report: Report, *, arguments: Sequence[str]) -> int:
    """Print the budget table with the figures of this machine."""
    env = _prepare(layout, report)
    return run_openly([layout.python, layout.root / "tests" / "bench", *arguments], cwd=layout.root, env=env)


def soak(layout: Layout, report: Report, *, arguments: Sequence[str]) -> int:
    """Kill processes on the real engine, deploy again, and compare what exists with what is declared."""
    env = _prepare(layout, report)
    return run_openly([layout.python, layout.root / "tests" / "soak", *arguments], cwd=layout.root, env=env)


def suites(layout: Layout, report: Report, *, arguments: Sequence[str]) -> int:
    """Run test suites that others wrote against the emulator."""
    env = _prepare(layout, report)
    return run_openly([layout.python, layout.root / "tests" / "suites", *arguments], cwd=layout.root, env=env)


def screenshots(layout: Layout, report: Report, *, arguments: Sequence[str]) -> int:
    """Take pictures of the dashboard, and compare their outlines with the accepted ones."""
    env = _prepare(layout, report)
    client_tools.ensure_browser(layout, report)
    client_tools.ensure_font(layout, report)
    folder = layout.root / "tests" / "ui" / "screenshots"
    return run_openly([layout.python, folder, *arguments], cwd=layout.root, env=env)


def verify_google(layout: Layout, report: Report, *, arguments: Sequence[str]) -> int:
    """Deploy to the emulator and to Google Cloud, within a budget (docs/architecture/verify-google.md)."""
    env = _prepare(layout, report)
    command: list[str | Path] = [layout.python, "-m", "scripts.verify_google", *arguments]
    return run_openly(command, cwd=layout.root, env=env)


def format_code(layout: Layout, report: Report) -> int:
    """Format the code and apply the linter's fixes."""
    python_packages.ensure(layout, report, development=True)
    env = dict(os.environ)
    fixed = run_openly([layout.python, "-m", "ruff", "check", "--fix"], cwd=layout.root, env=env)
    formatted = run_openly([layout.python, "-m", "ruff", "format"], cwd=layout.root, env=env)
    return fixed or formatted


def check(layout: Layout, report: Report) -> int:
    """Check format, lint, types, dependencies between packages, words and workflows; name all that failed."""
    python_packages.ensure(layout, report, development=True)
    schema: list[str | Path] = [layout.venv / "bin" / "check-jsonschema", "--builtin-schema"]
    types_of_programs: list[tuple[str, list[str | Path]]] = [
        (f"Types, {name}", [layout.python, "-m", "mypy", folder]) for name, folder in _PROGRAMS.items()
    ]
    checks: list[tuple[str, list[str | Path]]] = [
        ("Format", [layout.python, "-m", "ruff", "format", "--check", "--quiet"]),
        ("Lint", [layout.python, "-m", "ruff", "check", "--quiet", "--output-format=concise"]),
        ("Types", [layout.python, "-m", "mypy"]),
        ("Types, scripts", [layout.python, "-m", "mypy", "-p", "scripts"]),
        ("Types, gitops", [layout.python, "-m", "mypy", "gitops"]),
        *types_of_programs,
        ("Types, editor", [layout.venv / "bin" / "basedpyright", *_PROGRAMS.values()]),
        ("Dependencies", [layout.venv / "bin" / "lint-imports"]),
        ("Wording", [layout.python, "-m", "scripts.checks.wording", *_WRITTEN, "tests"]),
        ("Spelling", [layout.venv / "bin" / "codespell", *_WRITTEN]),
        ("Links", [layout.python, "-m", "scripts.checks.links", *_WRITTEN]),
        ("Workflows", [*schema, "vendor.github-workflows", *_WORKFLOWS]),
        ("Generated files", [layout.python, "-m", "scripts.arguments", "--check"]),
        ("Schema", [layout.python, "-m", "scripts.arguments.compatibility"]),
        ("Budget", [layout.python, "-m", "scripts.checks.budget"]),
        ("Updates", [*schema, "vendor.dependabot", ".github/dependabot.yml"]),
    ]
    failures = []
    for name, command in checks:
        try:
            with report.step(name) as step:
                step.progress("checking")
                run_quietly(
                    command,
                    cwd=layout.root,
                    env=os.environ,
                    failure=f"{name}: failed",
                    tail=200,
                )
                step.done("passed")
        except ChoreError as error:
            failures.append(name)
            report.line(str(error))
    if failures:
        raise ChoreError(f"Failed: {', '.join(failures)}. `make format` fixes format and some lint findings.")
    return 0


def _prepare(layout: Layout, report: Report) -> dict[str, str]:
    """Set up .venv and the CLI. Return the environment of tests."""
    python_packages.ensure(layout, report, development=True)
    return _environment(layout, report)


def _environment(layout: Layout, report: Report) -> dict[str, str]:
    """Return the user's environment with .venv, the CLI and an installed policy pack on PATH.

    Tests make their own Pulumi folders. Python may write bytecode, as in a deployment.
    """
    cli = installed.ensure(layout, report)
    path = environment.settings(layout, cli)["PATH"]
    env = {name: value for name, value in os.environ.items() if name != environment.BYTECODE_VARIABLE}
    return {**env, "PATH": client_tools.path(layout, path or "")}
