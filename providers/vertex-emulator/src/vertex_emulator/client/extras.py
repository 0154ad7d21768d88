"""Extras of the distributions: packages that only some people need, and the error where they are missing."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from importlib import util

DISTRIBUTION = "pulumi-vertex-training"


@dataclass(frozen=True, kw_only=True)
class Extra:
    """An extra of pyproject.toml: its name, and the packages that it adds with the module of each."""

    name: str
    purpose: str
    modules: tuple[tuple[str, str], ...]


TUNING = Extra(
    name="tuning",
    purpose="The Bayesian search of a tuning job with more than 5 trials",
    modules=(("optuna", "optuna"),),
)
UI = Extra(
    name="ui",
    purpose="The dashboard",
    modules=(("starlette", "starlette"), ("uvicorn", "uvicorn"), ("Jinja2", "jinja2")),
)
MCP = Extra(name="mcp", purpose="The server of tools for agents", modules=(("mcp", "mcp"),))
ALL = (TUNING, UI, MCP)


def missing(extra: Extra) -> tuple[str, ...]:
    """Return the packages of the extra that this interpreter does not find. Imports none of them."""
    return tuple(package for package, module in extra.modules if util.find_spec(module) is None)


def command(extra: Extra) -> str:
    """Return the command that installs the extra beside this package, from where this package came from."""
    requirement = f"{DISTRIBUTION}[{extra.name}]"
    origin = _origin()
    return f"{sys.executable} -m pip install '{requirement}{f' @ {origin}' if origin else ''}'"


def problem(extra: Extra) -> str | None:
    """Return the error for missing packages of the extra, with the remedy, or None if nothing is missing."""
    packages = missing(extra)
    if not packages:
        return None
    return (
        f"{extra.purpose} needs the extra `{extra.name}` of {DISTRIBUTION}: {', '.join(packages)} "
        f"{'is' if len(packages) == 1 else 'are'} not installed. Run: {command(extra)}"
    )


def _origin() -> str:
    """Return the wheel, folder or repository that the package was installed from, "" if it was an index."""
    from importlib import metadata  # takes 15 ms, and is needed for an error only

    try:
        record = json.loads(metadata.distribution(DISTRIBUTION).read_text("direct_url.json") or "{}")
    except (metadata.PackageNotFoundError, ValueError):
        return ""
    url = str(record.get("url", ""))
    repository = record.get("vcs_info")
    if url and repository:
        return f"{repository.get('vcs')}+{url}@{repository.get('commit_id')}"
    return url
