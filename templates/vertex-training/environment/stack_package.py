"""Build an empty package that requires pulumi-vertex-training, as the stack's `package` names it."""

from __future__ import annotations

import re
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

NAME = "pulumi-vertex-training"
PARTS = ("vertex-cluster", "vertex-training", "vertex-emulator", NAME)  # what a release consists of
EXTRAS = "ui"  # the dashboard, `vertex-training ui`
PROJECT = Path(__file__).resolve().parent.parent
REMEDY = """
Run one of these, then `pulumi install`:
  pulumi config set package 0.1.0                      a version, from your package index
  pulumi config set package /path/of/the/package.whl   a wheel, or the folder of a clone
  pulumi config set package https://host/package.whl   a URL, also one that begins with git+"""


def build_wheel(
    wheel_directory: str,
    _config_settings: Mapping[str, object] | None = None,
    _metadata_directory: str | None = None,
) -> str:
    """Write the wheel; pip calls this function (PEP 517)."""
    name = "stack_package-0"
    metadata = (
        "Metadata-Version: 2.1",
        "Name: stack-package",
        "Version: 0",
        *(f"Requires-Dist: {requirement}" for requirement in (*requirements(), f"{NAME}[{EXTRAS}]")),
    )
    files = {
        "METADATA": "\n".join(metadata) + "\n",
        "WHEEL": "Wheel-Version: 1.0\nGenerator: template\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{name}.dist-info/{file},,\n" for file in (*files, "RECORD"))
    with zipfile.ZipFile(Path(wheel_directory, f"{name}-py3-none-any.whl"), "w") as wheel:
        for file, text in {**files, "RECORD": record}.items():
            wheel.writestr(f"{name}.dist-info/{file}", text)
    return f"{name}-py3-none-any.whl"


def requirements() -> list[str]:
    """Return the requirements. Ends the process with a message if the stacks do not name a package."""
    named = {value: file.name for file in sorted(PROJECT.glob("Pulumi.*.yaml")) for value in packages(file)}
    if not named:
        sys.exit(f"No stack of {PROJECT} configures `package`, the package {NAME} to install.{REMEDY}")
    if len(named) > 1:
        listed = ", ".join(f"{value} ({file})" for value, file in named.items())
        sys.exit(f"The stacks configure different packages: {listed}.{REMEDY}")
    (value,) = named
    if re.fullmatch(r"\d+(\.\w+)*", value):
        return [f"{NAME}=={value}"]
    if value.startswith("git+"):
        return [f"{part} @ {value.partition('#')[0]}#subdirectory=providers/{part}" for part in PARTS]
    if re.match(r"[a-z+]+://", value):
        return [f"{part} @ {sibling(value, part)}" for part in PARTS]
    path = (PROJECT / Path(value).expanduser()).resolve()
    if path.suffix == ".whl" and path.is_file():
        found = {part: Path(sibling(str(path), part)) for part in PARTS}
        return [f"{part} @ {file.as_uri()}" for part, file in found.items() if file.is_file()]
    if (path / "providers" / NAME / "pyproject.toml").is_file():
        return [f"{part} @ {(path / 'providers' / part).as_uri()}" for part in PARTS]
    sys.exit(f"`package` is {value}: not a version or a URL, and {path} is not a wheel or a clone.{REMEDY}")


def sibling(wheel: str, part: str) -> str:
    """Return the path or URL of another wheel of the same release."""
    folder, slash, name = wheel.rpartition("/")
    return f"{folder}{slash}{name.replace(NAME.replace('-', '_'), part.replace('-', '_'), 1)}"


def packages(file: Path) -> list[str]:
    """Return the value of `package` in the configuration of a stack, in a list; [] without one."""
    found = re.search(r"^  [\w.-]+:package:[ \t]*(\S.*)$", file.read_text(encoding="utf-8"), re.MULTILINE)
    value = found[1].strip().strip("'\"") if found else ""
    return [value] if value else []
