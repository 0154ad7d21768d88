"""Programs that tests drive: installed or built once, and reported if they are not available."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from scripts.layout import Layout
from scripts.report import Report
from scripts.tools import client_tools

_APT = """#!/bin/sh
echo "$@" >> "{log}"
case "$1" in
    update) touch "{log}.updated" ;;
    install) [ -e "{log}.updated" ] || exit 100
             for name in "$@"; do
                 case $name in skopeo | buildah | chromium-*) cp "$0" "{bin}/$name" ;; esac
             done ;;
esac
"""

_GO = """#!/bin/sh
echo "$@" >> "{log}"
case "$1" in
    mod) echo 'go: downloading'; echo '{{"Dir": "{source}"}}' ;;
    build) [ "$PWD" = "{source}" ] || exit 3; echo '#!/bin/sh' > "$3"; chmod +x "$3" ;;
esac
"""


class Machine:
    """A PATH with the programs that a test adds."""

    def __init__(self, folder: Path) -> None:
        self.bin, self.log, self.source = folder / "bin", folder / "log", folder / "source"
        self.bin.mkdir()
        self.source.mkdir()
        for name in ("sh", "touch", "cp", "chmod"):
            (self.bin / name).symlink_to(Path("/bin") / name)

    def add(self, name: str, script: str = "#!/bin/sh\n") -> None:
        program = self.bin / name
        program.write_text(script.format(log=self.log, bin=self.bin, source=self.source))
        program.chmod(0o755)

    @property
    def environ(self) -> dict[str, str]:
        return {"PATH": str(self.bin)}

    @property
    def ran(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def ensure(layout: Layout, report: Report, machine: Machine, *, is_root: bool = True) -> None:
    client_tools.ensure(layout, report, environ=machine.environ, is_root=is_root)


def test_missing_programs_are_installed_and_built(
    layout: Layout, report: Report, machine: Machine, printed: io.StringIO
) -> None:
    machine.add("apt-get", _APT)
    machine.add("go", _GO)
    ensure(layout, report, machine)
    assert "installed" in printed.getvalue()
    assert (client_tools.GO[0].folder(layout) / "oras").exists()


def test_outdated_package_lists_are_updated(layout: Layout, report: Report, machine: Machine) -> None:
    machine.add("apt-get", _APT)
    ensure(layout, report, machine)
    assert [line.split()[0] for line in machine.ran] == ["install", "update", "install"]


def test_existing_programs_are_kept(
    layout: Layout, report: Report, machine: Machine, printed: io.StringIO
) -> None:
    for name in ("skopeo", "buildah", "oras", "regctl", "crane", "act", "actionlint"):
        machine.add(name)
    machine.add("apt-get", _APT)
    ensure(layout, report, machine)
    assert machine.ran == []
    assert "up to date" in printed.getvalue()


def test_a_second_run_does_nothing(layout: Layout, report: Report, machine: Machine) -> None:
    machine.add("apt-get", _APT)
    machine.add("go", _GO)
    ensure(layout, report, machine)
    before = machine.ran
    ensure(layout, report, machine)
    assert machine.ran == before


@pytest.mark.parametrize("is_root", [True, False])
def test_unavailable_programs_are_reported(
    layout: Layout,
    report: Report,
    machine: Machine,
    printed: io.StringIO,
    is_root: bool,
) -> None:
    if not is_root:
        machine.add("apt-get", _APT)
    ensure(layout, report, machine, is_root=is_root)
    assert "without skopeo, buildah, oras, regctl, crane, act, actionlint" in printed.getvalue()
    assert machine.ran == []


def test_a_failed_build_is_reported(
    layout: Layout, report: Report, machine: Machine, printed: io.StringIO
) -> None:
    machine.add("go", "#!/bin/sh\necho no such module; exit 1\n")
    ensure(layout, report, machine)
    assert "no such module" in printed.getvalue()


@pytest.mark.parametrize("found", [None, *client_tools.BROWSERS])
def test_a_browser_is_installed_unless_there_is_one(
    layout: Layout, report: Report, machine: Machine, found: str | None
) -> None:
    machine.add("apt-get", _APT)
    if found:
        machine.add(found)
    client_tools.ensure_browser(layout, report, environ=machine.environ, is_root=True)
    assert bool(machine.ran) == (found is None)
    assert client_tools.browser(machine.environ) == str(machine.bin / (found or client_tools.BROWSERS[0]))


def test_a_missing_browser_is_reported(
    layout: Layout, report: Report, machine: Machine, printed: io.StringIO
) -> None:
    client_tools.ensure_browser(layout, report, environ=machine.environ, is_root=False)
    assert "without chromium" in printed.getvalue()


def test_the_font_is_installed_unless_it_is_there(
    layout: Layout, report: Report, machine: Machine, printed: io.StringIO, tmp_path: Path
) -> None:
    machine.add("apt-get", _APT)
    for folder, runs in ((tmp_path, False), (tmp_path / "missing", True)):
        client_tools.ensure_font(layout, report, environ=machine.environ, is_root=True, folder=folder)
        assert bool(machine.ran) == runs
    assert "without fonts-inter" in printed.getvalue()


def test_built_programs_are_last_on_path(layout: Layout) -> None:
    folders = [str(program.folder(layout)) for program in client_tools.GO]
    folders.append(str(client_tools.yaml_host(layout)))
    assert client_tools.path(layout, "/usr/bin").split(":") == ["/usr/bin", *folders]
