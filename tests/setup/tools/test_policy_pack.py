"""The environment of the policy pack: installed once from its lock file, and reported if it cannot be."""

from __future__ import annotations

import dataclasses
import io
import re
import shutil
from pathlib import Path

import pytest

from scripts import environment, lock_files, policy_pack
from scripts.layout import Layout, layout
from scripts.pulumi_cli import PulumiCli
from scripts.report import ChoreError, Report

_PYTHON = """#!/bin/sh
echo "$@" >> "{log}"
mkdir -p "{pack}/venv"
sum=$(sha256sum < "{pack}/requirements.txt" | cut -d' ' -f1)
printf '%s\\n%s\\n' "$sum" "{pack}/venv" > "{pack}/venv/installed"
"""
_BROKEN = "#!/bin/sh\necho no network; exit 1\n"


@pytest.fixture
def here(tmp_path: Path) -> Layout:
    found = layout(local=tmp_path / "local", environ={"XDG_CACHE_HOME": str(tmp_path / "cache")})
    shutil.copytree(found.root / "policies", tmp_path / "policies", ignore=shutil.ignore_patterns("venv"))
    return dataclasses.replace(found, root=tmp_path)


def ensure(here: Layout, report: Report, script: str) -> list[str]:
    """Run the chore with a script in place of Python. Return the lines that it wrote."""
    log = here.local / "log"
    log.parent.mkdir(exist_ok=True)
    here.python.parent.mkdir(parents=True, exist_ok=True)
    here.python.write_text(script.format(log=log, pack=here.root / "policies"))
    here.python.chmod(0o755)
    policy_pack.ensure(here, report, environ={"PATH": "/usr/bin:/bin"})
    return log.read_text().splitlines() if log.exists() else []


def test_it_is_installed_once_and_again_after_a_change_of_its_lock(here: Layout, report: Report) -> None:
    (line,) = ensure(here, report, _PYTHON)
    assert line == f"-I {here.root / 'policies' / 'install.py'}"
    assert ensure(here, report, _PYTHON) == [line]
    with policy_pack.lock(here).open("a") as lock:
        lock.write("# changed\n")
    assert ensure(here, report, _PYTHON) == [line, line]


def test_a_failure_is_an_error_of_the_chore_and_a_line_for_tests(
    here: Layout, report: Report, printed: io.StringIO
) -> None:
    with pytest.raises(ChoreError, match="no network"):
        ensure(here, report, _BROKEN)
    policy_pack.ensure_for_tests(here, report)
    assert "no network" in printed.getvalue()


def test_the_script_is_on_path_once_the_environment_is_installed(here: Layout, report: Report) -> None:
    cli = PulumiCli(folder=here.cache / "bin", version="3.259.0", ours=True)
    script = str(policy_pack.scripts(here))
    assert script not in str(environment.settings(here, cli, environ={})["PATH"]).split(":")
    ensure(here, report, _PYTHON)
    assert script in str(environment.settings(here, cli, environ={})["PATH"]).split(":")


def test_the_lock_file_has_hashes_and_no_address(here: Layout) -> None:
    text = policy_pack.lock(here).read_text()
    assert "://" not in text
    pins = lock_files.pins(text)
    assert {pin.partition("==")[0] for pin in pins} >= {"pulumi", "pulumi-policy", "protobuf", "grpcio"}
    for pin, hashes in pins.items():
        assert re.fullmatch(r"(--hash=sha256:[0-9a-f]{64} )+", hashes), pin
