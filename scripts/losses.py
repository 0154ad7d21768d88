"""The line that `make down` prints before it deletes an environment."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from scripts.package_modules import loaded

_TOKENS = loaded("vertex_training/type_tokens.py")
_CONTENTS = {
    "StagingBucket": "bucket {id} with all its objects",
    "ImageRepository": "repository {id} with all its images",
}


def warning(state: Path, *, project: str, stack: str) -> str:
    """Return the line about an environment in our own backend, "" if nothing of it is lost or in use.

    `state` is the backend's folder. Buckets and repositories are lost with `force_destroy`; others are kept
    while they hold something.
    """
    resources = _resources(state / ".pulumi" / "stacks" / project / f"{stack}.json")
    if not any(_TOKENS.resource_of(one["type"]) == "TrainingEnvironment" for one in resources):
        return ""
    lost = " and ".join(_lost(resources))
    users = ", ".join(_users(state, project, stack))
    parts = [f"this deletes {lost}" if lost else "", f"in use by {users}" if users else ""]
    said = "; ".join(part for part in parts if part)
    return f"Environment {project}/{stack}: {said}." if said else ""


def _lost(resources: list[Mapping[str, Any]]) -> Iterator[str]:
    for one in resources:
        contents = _CONTENTS.get(_TOKENS.resource_of(one["type"]))
        outputs = one.get("outputs") or {}
        if contents and (outputs.get("force_destroy") or outputs.get("forceDestroy")):
            yield contents.format(id=str(one.get("id", "")).rpartition("/")[2])


def _users(state: Path, project: str, stack: str) -> Iterator[str]:
    """Yield the stacks of the backend that refer to the stack."""
    for file in sorted((state / ".pulumi" / "stacks").glob("*/*.json")):
        for one in _resources(file):
            named = str((one.get("inputs") or {}).get("name", "")).split("/")
            if one["type"] == "pulumi:pulumi:StackReference" and named[-2:] == [project, stack]:
                yield f"{file.parent.name}/{file.stem}"
                break


def _resources(file: Path) -> list[Mapping[str, Any]]:
    try:
        found = json.loads(file.read_text())["checkpoint"]["latest"].get("resources") or []
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return []
    return list(found)
