"""Run a program of this repository under Pulumi's mocks, and return what it declares and prints."""

from __future__ import annotations

import atexit
import functools
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]

_SERVER = Path(__file__).parent / "client" / "mocked_run.py"


@dataclass(frozen=True, kw_only=True)
class Program:
    """Resources that a program declared, each with `type`, `name` and `inputs`; or the error that ended it.

    `values` are those of the environment that the program calls `shown`.
    """

    declared: list[dict[str, Any]]
    values: dict[str, Any]
    error: str
    printed: str

    def of(self, kind: str) -> list[dict[str, Any]]:
        """Return the resources of a type by its last part, such as `Account`."""
        return [one for one in self.declared if one["type"].endswith(f":{kind}")]

    def named(self, kind: str, name: str) -> dict[str, Any]:
        """Return the inputs of the one resource with a type and a name."""
        (found,) = [one["inputs"] for one in self.of(kind) if one["name"] == name]
        inputs: dict[str, Any] = found
        return inputs


def run(
    stack: str,
    config: dict[str, str],
    *,
    folder: str = "infra",
    program: str = "",
    project: str = "digits",
    secrets: tuple[str, ...] = (),
    stacks: dict[str, dict[str, Any]] | None = None,
    preview: bool = True,
    without: str = "",
) -> Program:
    """Run the program in a folder of the repository, or the given one. `without` cannot be imported."""
    settings = {
        **{"stack": stack, "config": config, "program": program, "project": project, "preview": preview},
        **{"secrets": secrets, "stacks": stacks or {}, "without": without},
    }
    with tempfile.TemporaryDirectory() as place:
        server = _server()
        assert server.stdin is not None and server.stdout is not None
        server.stdin.write(json.dumps({"folder": str(ROOT / folder), "output": place, **settings}) + "\n")
        server.stdin.flush()
        code = server.stdout.readline()
        out, err = (Path(place, name).read_text() for name in ("out", "err"))
    assert code == "0\n", err
    found = json.loads(out.splitlines()[-1])
    return Program(
        declared=found.get("declared", []),
        values=found.get("values", {}),
        error=found.get("error", ""),
        printed=out.rpartition("\n{")[0] + err,
    )


@functools.cache
def _server() -> subprocess.Popen[str]:
    """Start the process whose forks run programs. It ends with this process."""
    server = subprocess.Popen(
        [sys.executable, _SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    atexit.register(server.communicate)
    return server
