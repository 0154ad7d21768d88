"""The official release, downloaded from a server of the test's own."""

from __future__ import annotations

import hashlib
import io
import os
import socket
import tarfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from scripts.layout import Layout
from scripts.pulumi_cli import download, installed
from scripts.pulumi_cli.download import PINNED, REQUIRED, NotObtainedError, Release
from scripts.report import ChoreError, Report, Step

MACHINE = "linux-x64"
PROGRAMS = {name: f"#!/bin/sh\necho {name}\n".encode() for name in REQUIRED}


def archive(files: dict[str, bytes] | None = None, *special: tarfile.TarInfo) -> bytes:
    """Pack a release as Pulumi does: programs in a folder `pulumi`."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, content in (files or {f"pulumi/{name}": text for name, text in PROGRAMS.items()}).items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
        for member in special:
            tar.addfile(member)
    return packed.getvalue()


def link(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member


class Site(ThreadingHTTPServer):
    """A server of `body` at each path; `length` is its Content-Length, `hold` delays the answer until set."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.body = archive()
        self.status = 200
        self.length: int | None = None
        self.hold: threading.Event | None = None
        self.paths: list[str] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def release(self) -> Release:
        return Release(version="9.9.9", sha256={MACHINE: hashlib.sha256(self.body).hexdigest()})


class Handler(BaseHTTPRequestHandler):
    server: Site

    def do_GET(self) -> None:
        self.server.paths.append(self.path)
        if self.server.hold:
            self.server.hold.wait(10)
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(self.server.length or len(self.server.body)))
        self.end_headers()
        self.wfile.write(self.server.body)

    def log_message(self, *_arguments: object) -> None:
        pass


@pytest.fixture
def site() -> Iterator[Site]:
    server = Site()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def into(tmp_path: Path) -> Path:
    folder = tmp_path / "new" / "bin"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def step(report: Report) -> Step:
    return Step(report, "Pulumi CLI")


def install(site: Site, into: Path, step: Step, release: Release | None = None, wait: float = 60.0) -> None:
    download.install(
        into,
        step,
        {download.ADDRESS_VARIABLE: site.address + "/"},
        release=release or site.release(),
        machine=MACHINE,
        answer_seconds=wait,
    )


def refused(site: Site, into: Path, step: Step, release: Release | None = None, wait: float = 60.0) -> str:
    """Fail to install, and check that nothing of the archive is left. Return the reason."""
    with pytest.raises(NotObtainedError) as caught:
        install(site, into, step, release, wait)
    assert [path.name for path in into.parent.iterdir()] == ["bin"]
    reason = str(caught.value)
    assert "\n" not in reason
    return reason


def test_a_good_archive_is_installed(site: Site, into: Path, step: Step) -> None:
    site.body = archive(
        {"pulumi/LICENSE": b"text", **{f"pulumi/{name}": text for name, text in PROGRAMS.items()}},
        link("pulumi", tarfile.DIRTYPE),
    )
    install(site, into, step)
    assert site.paths == ["/pulumi-v9.9.9-linux-x64.tar.gz"]
    assert {path.name: path.read_bytes() for path in into.iterdir()} == PROGRAMS
    assert all(os.access(path, os.X_OK) for path in into.iterdir())
    assert [path.name for path in into.parent.iterdir()] == ["bin"]


def test_an_archive_other_than_the_pinned_one_is_rejected(site: Site, into: Path, step: Step) -> None:
    release = Release(version="9.9.9", sha256={MACHINE: "0" * 64})
    reason = refused(site, into, step, release)
    assert "is not the expected archive" in reason
    assert hashlib.sha256(site.body).hexdigest() in reason
    assert list(into.iterdir()) == []


def test_an_incomplete_download_is_rejected(site: Site, into: Path, step: Step) -> None:
    site.length = len(site.body) + 1000
    assert f"stopped after {len(site.body)} of {site.length} bytes" in refused(site, into, step)


def test_a_missing_archive_is_reported(site: Site, into: Path, step: Step) -> None:
    site.status = 404
    assert "returned 404 Not Found" in refused(site, into, step)


def test_the_wait_for_a_silent_server_ends(site: Site, into: Path, step: Step) -> None:
    site.hold = threading.Event()
    try:
        assert "did not respond within 0.2 s" in refused(site, into, step, wait=0.2)
    finally:
        site.hold.set()


def test_a_refused_connection_is_reported(site: Site, into: Path, step: Step) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(NotObtainedError, match=r"cannot be reached: .*refused"):
            download.install(
                into,
                step,
                {download.ADDRESS_VARIABLE: address},
                release=site.release(),
                machine=MACHINE,
            )


def test_a_platform_without_a_release_is_reported(site: Site, into: Path, step: Step) -> None:
    with pytest.raises(NotObtainedError, match="no release for plan9-mips"):
        download.install(into, step, {}, release=site.release(), machine="plan9-mips")


HOSTILE = {
    "a path out of the folder": archive({"pulumi/../../evil": b"x"}),
    "an absolute path": archive({"/tmp/evil": b"x"}),
    "two dots as a name": archive({"pulumi/..": b"x"}),
    "a folder of its own": archive({"other/pulumi": b"x"}),
    "a deeper folder": archive({"pulumi/sub/pulumi": b"x"}),
    "a file in the folder's place": archive({"pulumi": b"x"}),
    "a symbolic link": archive({}, link("pulumi/pulumi", tarfile.SYMTYPE, "/bin/sh")),
    "a hard link": archive({}, link("pulumi/pulumi", tarfile.LNKTYPE, "/bin/sh")),
    "a named pipe": archive({}, link("pulumi/pulumi", tarfile.FIFOTYPE)),
}


@pytest.mark.parametrize("body", HOSTILE.values(), ids=list(HOSTILE))
def test_unexpected_members_are_rejected(
    site: Site, into: Path, step: Step, tmp_path: Path, body: bytes
) -> None:
    site.body = body
    assert "unexpected member" in refused(site, into, step)
    assert list(tmp_path.rglob("evil")) == []


def test_an_archive_without_the_language_host_is_rejected(site: Site, into: Path, step: Step) -> None:
    site.body = archive({"pulumi/pulumi": b"x"})
    assert "lacks pulumi-language-python, pulumi-language-python-exec" in refused(site, into, step)


@pytest.mark.parametrize("body", [b"not an archive", archive()[:100]], ids=["no archive", "half of one"])
def test_a_corrupt_archive_is_rejected(site: Site, into: Path, step: Step, body: bytes) -> None:
    site.body = body
    assert "cannot be unpacked" in refused(site, into, step)


def test_the_release_is_pinned_for_four_platforms() -> None:
    assert set(PINNED.sha256) == {"linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64"}
    assert len({bytes.fromhex(value) for value in PINNED.sha256.values()}) == 4
    assert all(len(value) == 64 for value in PINNED.sha256.values())
    assert (installed.parse_version(PINNED.version) or ()) >= installed.MINIMUM


def for_this_machine(site: Site) -> Release:
    return Release(version="9.9.9", sha256={download.platform_name(): site.release().sha256[MACHINE]})


def test_without_a_cli_on_path_it_is_downloaded_once(
    site: Site, layout: Layout, report: Report, printed: io.StringIO
) -> None:
    environ = {"PATH": "/nowhere", download.ADDRESS_VARIABLE: site.address}
    (layout.cache / ".new-killed").mkdir(parents=True)
    for _ in range(2):
        cli = installed.ensure(layout, report, environ=environ, release=for_this_machine(site))
        assert cli.program == layout.cache / "pulumi-9.9.9" / "bin" / "pulumi"
        assert cli.ours
    assert len(site.paths) == 1
    assert sorted(path.name for path in layout.cache.iterdir()) == ["lock", "pulumi-9.9.9"]
    assert printed.getvalue().endswith("up to date\n")


def test_if_nothing_works_all_reasons_and_remedies_are_reported(
    site: Site, layout: Layout, report: Report
) -> None:
    site.status = 403
    environ = {"PATH": "/nowhere", download.ADDRESS_VARIABLE: site.address}
    with pytest.raises(ChoreError) as caught:
        installed.ensure(layout, report, environ=environ, release=for_this_machine(site))
    for words in (
        "pulumi is not on PATH",
        "returned 403 Forbidden",
        "go is not on PATH",
        "install the Pulumi CLI, 3.216 or newer",
        "install Go 1.25",
    ):
        assert words in str(caught.value)
    assert [path.name for path in layout.cache.iterdir()] == ["lock"]


def test_an_old_go_is_reported(site: Site, layout: Layout, report: Report, tmp_path: Path) -> None:
    site.status = 404
    go = tmp_path / "go"
    go.write_text("#!/bin/sh\necho 'go: go.mod requires go >= 1.25.11 (running go 1.19)'\nexit 1\n")
    go.chmod(0o755)
    environ = {"PATH": f"{tmp_path}:/usr/bin:/bin", download.ADDRESS_VARIABLE: site.address}
    with pytest.raises(ChoreError, match=r"Go 1\.25\.11 or newer is needed\. .*running go 1\.19"):
        installed.ensure(layout, report, environ=environ, release=for_this_machine(site))


def test_an_unwritable_cache_folder_is_reported(layout: Layout, report: Report) -> None:
    layout.cache.write_text("a file is in the way")
    with pytest.raises(ChoreError, match="cannot be written"):
        installed.ensure(layout, report, environ={"PATH": "/nowhere"})
