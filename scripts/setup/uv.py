"""uv, which installs the locked packages of .venv: in parallel, with a fifth of pip's processor time.

pip installs uv itself, by its own lock file, into the cache folder, once for all clones. Where that fails, or
where pip has a setting that uv does not have, pip installs the packages.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from scripts.layout import Layout
from scripts.processes import run_quietly
from scripts.report import ChoreError

CACHE = "python-packages"
"""The folder of fetched packages in the cache folder. Packages of .venv are links to its files."""

_VARIABLES = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "trusted-host": "UV_INSECURE_HOST",
    "cert": "SSL_CERT_FILE",
}
"""Variables of uv by the settings of pip with the same meaning."""

_UNKNOWN = frozenset({"no-index", "client-cert", "keyring-provider", "proxy", "constraint"})
_SETTING = re.compile(r"^(?:[\w-]+|:env:)\.([\w-]+)='(.*)'$", re.MULTILINE)


def lock(layout: Layout) -> Path:
    """Return the lock file of uv."""
    return layout.tools / "uv" / "requirements.txt"


def ensure(layout: Layout, python: Path, environ: Mapping[str, str]) -> Path:
    """Return the program, and install it with the pip of `python` if it is missing. Raises ChoreError."""
    version = re.search(r"^uv==([\w.]+)", lock(layout).read_text(), re.MULTILINE)
    if version is None:
        raise ChoreError(f"{lock(layout)} does not name a version of uv. Run `make lock`.")
    program = layout.cache / f"uv-{version[1]}" / "bin" / "uv"
    if program.exists():
        return program
    layout.cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".new-uv-", dir=layout.cache) as temporary:
        new = Path(temporary, "uv")
        pip: list[str | Path] = [
            python,
            "-I",
            "-m",
            "pip",
            "install",
            "--disable-pip-version-check",
            "--no-input",
        ]
        flags = ["--no-cache-dir", "--no-deps", "--no-compile", "--require-hashes"]
        run_quietly(
            [*pip, *flags, "--target", new, "-r", lock(layout)],
            cwd=layout.root,
            env=environ,
            failure="uv could not be installed",
            tail=2,
        )
        if not (new / "bin" / "uv").exists():
            raise ChoreError("uv could not be installed: pip wrote no program.")
        shutil.rmtree(program.parents[1], ignore_errors=True)
        new.rename(program.parents[1])
    return program


def environment(layout: Layout, python: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of uv, with the settings of pip: uv does not read them.

    Raises ChoreError for a setting that uv does not have.
    """
    printed = run_quietly(
        [python, "-I", "-m", "pip", "config", "list"],
        cwd=layout.root,
        env=environ,
        failure="The settings of pip cannot be read",
    )
    settings = dict(_SETTING.findall(printed))  # the environment's settings come last
    if unknown := sorted(_UNKNOWN & settings.keys()):
        raise ChoreError(f"uv does not have pip's setting {unknown[0]}.")
    own = {
        variable: settings[name].replace("\\n", " ").strip()
        for name, variable in _VARIABLES.items()
        if settings.get(name)
    }
    kept = {name: value for name, value in environ.items() if name not in ("PYTHONHOME", "PYTHONPATH")}
    fixed = {"UV_NO_PROGRESS": "1", "UV_PYTHON_DOWNLOADS": "never", "UV_CACHE_DIR": str(layout.cache / CACHE)}
    return {**own, **kept, **fixed}
