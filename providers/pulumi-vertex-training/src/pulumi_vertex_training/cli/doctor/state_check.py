"""The part of `doctor` about the file backend that `pulumi` uses here."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from pulumi_vertex_training.cli.doctor import backend_files
from pulumi_vertex_training.cli.gc import pulumi_backends
from vertex_training.command_line.errors import CommandError


def repair() -> list[str]:
    """Repair the files of the file backend. Return what was done."""
    found = damages(file_backend_of(os.environ))
    try:
        lost = backend_files.repair(found)
    except OSError as error:
        raise CommandError(f"The state files cannot be repaired: {error}.") from error
    return [str(damage) for damage in found if damage not in lost]


def file_backend_of(environment: Mapping[str, str]) -> Path | None:
    """Return the `.pulumi` folder of the file backend that `pulumi` uses, or None."""
    url = environment.get("PULUMI_BACKEND_URL")
    if not url:
        home = Path(environment.get("PULUMI_HOME") or Path.home() / ".pulumi")
        try:
            url = str(json.loads((home / "credentials.json").read_text(encoding="utf-8")).get("current"))
        except (OSError, ValueError, AttributeError):
            return None
    return pulumi_backends.folder(url)


def damages(root: Path | None) -> list[backend_files.Damage]:
    """Return the damaged files of all stacks that no deployment has locked."""
    found: dict[Path, backend_files.Damage] = {}
    for project, stack in backend_files.unlocked_stacks(root) if root else ():
        for damage in backend_files.damages(root, project=project, stack=stack) if root else ():
            found[damage.file] = damage
    return list(found.values())


def interrupted(root: Path | None) -> Iterator[tuple[str, int]]:
    """Yield the stacks that record interrupted operations, and their number."""
    for project, stack in backend_files.unlocked_stacks(root) if root else ():
        file = (root or Path()) / "stacks" / project / f"{stack}.json"
        try:
            latest = json.loads(file.read_text(encoding="utf-8"))["checkpoint"].get("latest") or {}
            count = len(latest.get("pending_operations") or ())
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue
        if count:
            yield f"organization/{project}/{stack}", count
