"""Report all missing local files of a program at once; the engine stops at the first resource's problem."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import pulumi

_MISSING: WeakKeyDictionary[asyncio.AbstractEventLoop, list[str]] = WeakKeyDictionary()
"""The findings of each running program. An inline program of the Automation API has its own event loop."""


def check_files(resource: str, source: pulumi.Input[str], **paths: object) -> pulumi.Input[str]:
    """Return `source`, or an Output that fails with every missing file of the program.

    `paths` are further paths of the resource by argument: one, or a dictionary of them. Paths that are
    Outputs are left to the provider. All constructors of a program run before the engine hears of any
    resource, and so before the Output is awaited.
    """
    findings = [
        f"{resource}: {name}: {path} does not exist in {Path.cwd()}. Correct the path."
        for name, path in _plain({"source": source, **paths})
        if _is_missing(path)
    ]
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return source
    if not findings:
        return source
    found = _MISSING.setdefault(loop, [])
    found += findings

    async def fail() -> str:
        raise pulumi.RunError("\n".join(found))

    return pulumi.Output.from_input(fail())


def _is_missing(path: str) -> bool:
    try:
        Path(path).stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        return False  # the provider reports what is wrong with it
    return False


def _plain(paths: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in paths.items():
        if isinstance(value, str):
            yield name, value
        elif isinstance(value, Mapping):
            yield from ((f"{name}[{key!r}]", path) for key, path in value.items() if isinstance(path, str))
