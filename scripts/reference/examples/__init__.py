"""The examples of the reference: each is a module that mypy checks, and a test previews all of them.

The docstring of a module is for its readers here; the page shows what follows.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

FOLDER = Path(__file__).parent


def of_resource(name: str) -> str:
    """Return the example of a resource, by the name of its class."""
    return shown(FOLDER / "resources" / f"{re.sub(r'(?<!^)(?=[A-Z])', '_', name).lower()}.py")


def shown(path: Path) -> str:
    """Return the source of an example without its docstring."""
    source = path.read_text(encoding="utf-8")
    first = ast.parse(source).body[0]
    return "\n".join(source.split("\n")[first.end_lineno :]).strip("\n")
