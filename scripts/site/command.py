"""`make docs`: build the site and check it, or serve it while you write."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from scripts import environment
from scripts.layout import Layout
from scripts.processes import run_openly, run_quietly
from scripts.report import ChoreError, Report
from scripts.setup import python_packages

ADDRESS = "127.0.0.1:8000"
_PYTHON = "Zensical, which builds the site, needs Python 3.11 or newer. Run `make PYTHON=python3.12 setup`."


def docs(layout: Layout, report: Report, *, arguments: Sequence[str]) -> int:
    """Build docs/ into .local/site and check every page. With `--serve`, serve the pages instead.

    Further arguments of `--serve` go to Zensical, such as `--dev-addr 127.0.0.1:8080`.
    """
    python_packages.ensure(layout, report, development=True)
    if not is_installed(layout):
        raise ChoreError(_PYTHON)
    env = {name: value for name, value in os.environ.items() if name != environment.BYTECODE_VARIABLE}
    if list(arguments[:1]) == ["--serve"]:
        address = [] if "--dev-addr" in arguments else ["--dev-addr", ADDRESS]
        return run_openly(command(layout, "serve", *address, *arguments[1:]), cwd=layout.root, env=env)
    if arguments:
        raise ChoreError(
            f"{' '.join(arguments)}: is not an option. Run `make docs` or `make docs ARGS=--serve`."
        )
    with report.step("Site") as step:
        step.progress("building")
        run_quietly(
            command(layout, "build", "--clean", "--strict"),
            cwd=layout.root,
            env={**env, "NO_COLOR": "1"},
            failure="The site cannot be built",
            tail=200,
        )
        for module, doing in (("llms", "writing llms.txt"), ("check", "following every link")):
            step.progress(doing)
            run_quietly(
                [layout.python, "-m", f"scripts.site.{module}"],
                cwd=layout.root,
                env=env,
                failure="Pages of the site have problems",
                tail=200,
            )
        step.done(f"built: {layout.local / 'site' / 'index.html'}")
    return 0


def is_installed(layout: Layout) -> bool:
    """Return whether .venv has Zensical."""
    return any((layout.venv / "lib").glob("python3.*/site-packages/zensical/__init__.py"))


def command(layout: Layout, *arguments: str) -> list[str | Path]:
    """Return a command of Zensical, which imports the extension of `scripts.site` from the clone."""
    return [layout.python, "-m", "zensical", *arguments]
