"""The variables of the proxy, and their way back."""

from __future__ import annotations

from pathlib import Path

import pytest

from vertex_emulator.job_folder.logs import LogWriter
from vertex_emulator.server.proxy import variables

URL = "http://emulator:secret@127.0.0.1:8080"
CORPORATE = "http://me:pass@proxy.example.com:3128"


@pytest.mark.parametrize(
    ("present", "kept"),
    [
        ("", []),
        ("intra.example,10.9.8.7", ["intra.example", "10.9.8.7"]),
        ("*", []),
        ("*,intra.example", ["intra.example"]),
        ("googleapis.com,.googleapis.com,*.googleapis.com", []),
        ("storage.googleapis.com:443,www.googleapis.com", []),
        ("com,.dev,io,apis.com, gcr.io ,us-docker.pkg.dev", []),
        ("example.com,google.com,notgcr.io", ["example.com", "google.com", "notgcr.io"]),
        ("127.0.0.1", []),
    ],
)
def test_exceptions_that_cover_googles_hosts_are_removed(present: str, kept: list[str]) -> None:
    expected = ["127.0.0.1", "localhost", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"]
    found = variables.no_proxy({"no_proxy": present})
    assert sorted(found.split(",")) == sorted([*kept, *expected])
    assert variables.no_proxy({"NO_PROXY": present}) == found
    assert variables.no_proxy({"NO_PROXY": found}) == found


@pytest.mark.parametrize("name", ["https_proxy", "HTTPS_PROXY"])
def test_a_shells_own_proxy_comes_back(tmp_path: Path, name: str) -> None:
    mine = {name: CORPORATE, "PATH": "/bin"}
    once = {**mine, **variables.shell_variables(URL, data_dir=tmp_path, environment=mine)}
    twice = {**once, **variables.shell_variables(URL, data_dir=tmp_path, environment=once)}
    assert twice == once
    assert once["https_proxy"] == once["HTTPS_PROXY"] == URL
    back = variables.without(once)
    assert back["https_proxy"] == back["HTTPS_PROXY"] == CORPORATE
    assert not set(back) - {"PATH", "https_proxy", "HTTPS_PROXY", "no_proxy", "NO_PROXY"}


def test_a_shell_without_a_proxy_of_its_own(tmp_path: Path) -> None:
    mine = {"SSL_CERT_FILE": "/etc/company.pem"}
    found = variables.shell_variables(URL, data_dir=tmp_path, environment=mine)
    assert found["SSL_CERT_FILE"] == str(tmp_path / "proxy" / "certificates" / "bundle.pem")
    assert set(variables.without(found)) == {"no_proxy", "NO_PROXY"}
    assert variables.without(mine) == mine


@pytest.mark.parametrize(("url", "secret"), [(URL, "secret"), (CORPORATE, ""), ("", "")])
def test_the_secret_that_logs_hide(url: str, secret: str) -> None:
    """Hide our own secret alone: the password of another proxy is for its owner to hide."""
    assert variables.secret_of({"https_proxy": url}) == secret


def test_a_log_hides_the_secret(tmp_path: Path) -> None:
    log = LogWriter(tmp_path / "log")
    log.hide("secret")
    log.feed("INFO", f"https_proxy={URL}\nand in two parts: sec".encode())
    log.feed("INFO", b"ret\n")
    log.close()
    text = (tmp_path / "log").read_text()
    assert "https_proxy=http://emulator:***@127.0.0.1:8080" in text
    assert "in two parts: ***" in text
    assert "secret" not in text
