"""Compile the Java agent that the emulator's proxy needs into the package.

    python -m scripts.emulator_files.java_agent

Needs a JDK. The archive has the same bytes for the same class, so that a rebuild shows as no change.
"""

from __future__ import annotations

import os
import sys
import tempfile
import zipfile
from pathlib import Path

from scripts.processes import run_quietly

SOURCE = (
    Path(__file__).resolve().parents[2]
    / "providers/vertex-emulator/src/vertex_emulator/server/proxy/java/ProxyAgent.java"
)
JAR = SOURCE.with_name("proxy-agent.jar")
CLASS = "vertex_emulator/ProxyAgent.class"

_MANIFEST = "Manifest-Version: 1.0\r\nPremain-Class: vertex_emulator.ProxyAgent\r\n\r\n"
_EPOCH = (1980, 1, 1, 0, 0, 0)


def compile_to(folder: Path) -> Path:
    """Compile the source for Java 8 or newer. Return the class file."""
    run_quietly(
        ("javac", "--release", "8", "-g:none", "-Xlint:-options", "-d", str(folder), str(SOURCE)),
        cwd=SOURCE.parent,
        env=os.environ,
        failure="javac",
    )
    return folder / CLASS


def write(jar: Path, compiled: bytes) -> None:
    """Write the archive."""
    with zipfile.ZipFile(jar, "w") as archive:
        for name, data in (("META-INF/MANIFEST.MF", _MANIFEST.encode()), (CLASS, compiled)):
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), data)


def main() -> int:
    """Compile the agent, and write its archive."""
    with tempfile.TemporaryDirectory() as folder:
        write(JAR, compile_to(Path(folder)).read_bytes())
    sys.stdout.write(f"{JAR}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
