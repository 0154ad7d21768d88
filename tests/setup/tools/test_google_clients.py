"""Programs with Google's libraries for other languages: installed once, and reported if they cannot be."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from scripts.layout import Layout, layout
from scripts.report import Report
from scripts.tools import google_clients

_GO = '#!/bin/sh\necho go >> "{log}"\necho > "$3"\n'
_NPM = '#!/bin/sh\necho npm "$1" "$2" >> "{log}"\nls >> "{log}"\n'
_MAVEN = '#!/bin/sh\necho mvn "$3" >> "{log}"\n'
_JAVAC = '#!/bin/sh\necho javac "$5" >> "{log}"\n'
_BROKEN = "#!/bin/sh\necho no network; exit 1\n"


@pytest.fixture
def here(tmp_path: Path) -> Layout:
    return layout(local=tmp_path / "local", environ={"XDG_CACHE_HOME": str(tmp_path / "cache")})


def ensure(here: Layout, report: Report, tmp_path: Path, **programs: str) -> list[str]:
    """Run the chore with these programs on PATH. Return the lines that they wrote."""
    log, folder = tmp_path / "log", tmp_path / "bin"
    folder.mkdir(exist_ok=True)
    for name, script in programs.items():
        (folder / name).write_text(script.format(log=log))
        (folder / name).chmod(0o755)
    google_clients.ensure(here, report, environ={"PATH": f"{folder}:/bin" if programs else str(folder)})
    return log.read_text().splitlines() if log.exists() else []


def test_all_are_installed_once(here: Layout, report: Report, tmp_path: Path) -> None:
    programs = {"go": _GO, "npm": _NPM, "mvn": _MAVEN, "javac": _JAVAC}
    first = ensure(here, report, tmp_path, **programs)
    expected = ["go", "mvn dependency:copy-dependencies", "javac Main.java", "npm ci --ignore-scripts"]
    assert first[:4] == expected
    assert {"main.js", "package.json", "package-lock.json"} <= set(first)
    assert ensure(here, report, tmp_path, **programs) == first
    for name in (google_clients.GO, google_clients.JAVA, google_clients.NODE):
        assert google_clients.program(here, name).exists()


def test_without_the_languages_all_are_missing(
    here: Layout, report: Report, tmp_path: Path, printed: io.StringIO
) -> None:
    ensure(here, report, tmp_path)
    assert "without google-client-go, google-client-java, google-client-node" in printed.getvalue()
    assert "Install Go" in printed.getvalue()
    assert "a JDK and Maven are needed" in printed.getvalue()
    assert "Install Node" in printed.getvalue()


def test_a_failure_is_reported_and_the_other_one_is_installed(
    here: Layout, report: Report, tmp_path: Path, printed: io.StringIO
) -> None:
    ensure(here, report, tmp_path, go=_BROKEN, npm=_NPM, mvn=_MAVEN, javac=_JAVAC)
    assert "no network" in printed.getvalue()
    assert "without google-client-go" in printed.getvalue()
    assert google_clients.program(here, google_clients.NODE).exists()
