"""The build of the CLI: its caches, its count of packages, and what a failure leaves."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from scripts.layout import Layout
from scripts.pulumi_cli import building, installed
from scripts.pulumi_cli.download import Release
from scripts.report import ChoreError, Report, Step
from scripts.tools import go_caches

_GO = """#!/bin/sh
echo "$GOMODCACHE $GOCACHE $GOTMPDIR $GOFLAGS $GOWORK" >>"{log}"
mkdir -p "$GOMODCACHE" "$GOCACHE"
case "$1 $2" in
    "env GOVERSION") echo go1.26.1 ;;
    "list -deps") echo "go: downloading example.com/a v1.0.0"
        printf '%s\\n' unsafe fmt example.com/a@v1.0.0 "$5@v2" ;;
    "list -m") echo "{sdk}" ;;
    "build -v") [ -z "{fails}" ] || exit 1
        echo fmt; echo example.com/a
        while [ "$1" != -o ]; do shift; done; touch "$2" ;;
esac
"""


NONE = Release(version="9.9.9", sha256={})
"""A release that cannot be downloaded for any machine."""


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """Return an environment with a program `go` that makes the folders that the real one fills."""
    sdk = tmp_path / "sdk"
    for name in building._SCRIPTS:
        (sdk / name).parent.mkdir(parents=True, exist_ok=True)
        (sdk / name).write_text("#!/bin/sh\n")
    (tmp_path / "bin").mkdir()
    write_go(tmp_path)
    return {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin", "GOFLAGS": "-mod=vendor"}


def write_go(folder: Path, fails: str = "") -> None:
    go = folder / "bin" / "go"
    go.write_text(_GO.format(log=folder / "log", sdk=folder / "sdk", fails=fails))
    go.chmod(0o755)


def test_a_build_deletes_its_caches_and_leaves_the_programs(
    layout: Layout, report: Report, tmp_path: Path, environ: dict[str, str]
) -> None:
    cli = installed.ensure(layout, report, environ=environ, release=NONE)
    assert sorted(path.name for path in cli.folder.iterdir()) == sorted(
        [
            "pulumi",
            "pulumi-language-python",
            "built",
            *(Path(name).name for name in building._SCRIPTS),
        ]
    )
    assert sorted(path.name for path in layout.cache.iterdir()) == ["lock", "pulumi-9.9.9"]
    go = layout.cache / go_caches.FOLDER
    used = {f"{go}/modules {go}/packages {go}/tmp -modcacherw off"}
    assert set((tmp_path / "log").read_text().splitlines()) == used


def test_the_count_has_a_total(
    layout: Layout, tmp_path: Path, environ: dict[str, str], printed: io.StringIO
) -> None:
    (tmp_path / "into").mkdir()
    step = Step(Report(printed, live=True, colour=False), "Pulumi CLI")
    building.install(tmp_path / "into", layout.cache, layout.tools, step, environ)
    shown = printed.getvalue()
    # fmt and the module are in both programs, each of which is a package itself
    assert "fetching example.com/a v1.0.0" in shown
    assert "building pulumi: 4 of 4 packages" in shown
    assert "minutes on two cores" in shown


def test_a_failed_build_keeps_its_caches_for_the_next(
    layout: Layout, report: Report, tmp_path: Path, environ: dict[str, str]
) -> None:
    write_go(tmp_path, fails="yes")
    with pytest.raises(ChoreError, match="cannot be built"):
        installed.ensure(layout, report, environ=environ, release=NONE)
    assert (layout.cache / go_caches.FOLDER / "packages").is_dir()
    write_go(tmp_path)
    installed.ensure(layout, report, environ=environ, release=NONE)
    assert not (layout.cache / go_caches.FOLDER).exists()


def test_the_host_of_yaml_leaves_no_caches_either(
    layout: Layout, printed: io.StringIO, environ: dict[str, str], tmp_path: Path
) -> None:
    step = Step(Report(printed), "YAML programs")
    building.install_yaml_host(tmp_path / "into", layout.cache, layout.tools, step, environ)
    assert [path.name for path in (tmp_path / "into").iterdir()] == [building.YAML_HOST]
    assert not list(layout.cache.iterdir())


def test_the_caches_of_tools_stay(layout: Layout, report: Report, environ: dict[str, str]) -> None:
    go_caches.environment_of_tools(layout.cache, environ)
    installed.ensure(layout, report, environ=environ, release=NONE)
    assert (layout.cache / go_caches.FOLDER / "packages").is_dir()
