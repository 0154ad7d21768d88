"""Write Python's bytecode once, in one process, before several processes import the same modules."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Mapping

from scripts.layout import Layout
from scripts.setup.python_packages import DEVELOPMENT_LOCK

_OWN = ("providers", "tests/support", "scripts")

_MODULES = (
    "_pytest.pytester",
    "hypothesis.strategies",
    "pip._internal.commands.list",
    "pulumi.dynamic",
    "google.cloud.aiplatform_v1",
    "google.cloud.artifactregistry_v1",
    "google.cloud.storage",
    "grpc",
    "optuna",
    "rich.table",
    "starlette.applications",
    "uvicorn",
)
"""Modules that most test processes import; pip installs packages without bytecode."""

_CODE = """
import compileall, importlib, sys, warnings
warnings.simplefilter("ignore")
for folder in sys.argv[1].split(","):
    compileall.compile_dir(folder, quiet=2)
for module in sys.argv[2].split(","):
    importlib.import_module(module)
"""


def ensure(layout: Layout, env: Mapping[str, str]) -> str:
    """Write the bytecode of this clone, and of the packages that tests import. Return what was done."""
    stamp = layout.local / "bytecode"
    digest = hashlib.sha256(
        (layout.root / DEVELOPMENT_LOCK).read_bytes() + str(layout.venv).encode()
    ).hexdigest()
    fresh = not (stamp.exists() and stamp.read_text() == digest and layout.venv.exists())
    words = [str(layout.python), "-c", _CODE, ",".join(_OWN), ",".join(_MODULES if fresh else ("sys",))]
    done = subprocess.run(words, cwd=layout.root, env=dict(env), check=False, capture_output=True)  # noqa: S603
    if done.returncode:
        return "not written: the tests write it themselves"
    stamp.parent.mkdir(parents=True, exist_ok=True)
    stamp.write_text(digest)
    return "written" if fresh else "up to date"
