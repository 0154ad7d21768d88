"""The environment of the policy pack: installed once from its lock file, and reported if it cannot be."""

from __future__ import annotations

import dataclasses
import io
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scripts import environment
from scripts.layout import Layout, layout
from scripts.pulumi_cli.installed import PulumiCli
from scripts.report import ChoreError, Report
from scripts.setup import lock_files
from scripts.tools import policy_pack

_PYTHON = """#!/bin/sh
echo "$@" >> "{log}"
mkdir -p "{pack}/venv/bin"
touch "{pack}/venv/bin/python"
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


def test_it_is_installed_again_if_its_python_is_gone(here: Layout, report: Report) -> None:
    ensure(here, report, _PYTHON)
    (here.root / "policies" / "venv" / "bin" / "python").unlink()
    assert len(ensure(here, report, _PYTHON)) == 2


def test_a_failure_is_an_error_of_the_chore_and_a_line_for_tests(
    here: Layout, report: Report, printed: io.StringIO
) -> None:
    with pytest.raises(ChoreError, match="no network"):
        ensure(here, report, _BROKEN)
    policy_pack.ensure_for_tests(here, report)
    assert "no network" in printed.getvalue()


def run_install(here: Layout, *options: str, python: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run policies/install.py with the Python of the tests. `python` makes the environment."""
    script = str(here.root / "policies" / "install.py")
    code = f"import runpy, sys; sys._base_executable = {str(python)!r}\n"
    code += f"runpy.run_path({script!r}, None, '__main__')"
    return subprocess.run(
        [sys.executable, *options, *(["-c", code] if python else [script])],
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )


_WITHOUT_INDEX = """#!/bin/sh
mkdir -p "$4/bin"
printf '#!/bin/sh\nexit 1\n' > "$4/bin/python"
chmod +x "$4/bin/python"
"""
"""A Python that makes an environment whose pip fails."""


def test_an_environment_of_another_package_is_replaced_and_a_failure_leaves_none(here: Layout) -> None:
    script = runpy.run_path(str(here.root / "policies" / "install.py"))
    packages = dict(script["_packages"]())
    (script["VENV"] / "bin").mkdir(parents=True)
    script["PYTHON"].touch()
    script["STAMP"].write_text(script["_stamp"](packages))
    ended = run_install(here)
    assert (ended.returncode, ended.stdout) == (0, f"{script['VENV']} is up to date.\n")
    script["STAMP"].write_text(script["_stamp"]({name: Path("/elsewhere") for name in packages}))
    python = here.root / "python"
    python.write_text(_WITHOUT_INDEX)
    python.chmod(0o755)
    ended = run_install(here, python=python)
    assert ended.returncode == 1
    assert "name another index in PIP_INDEX_URL" in ended.stderr
    assert not script["VENV"].exists()
    script_of_the_pack = policy_pack.scripts(here) / "pulumi-analyzer-policy-vtpolicy"
    started = subprocess.run([script_of_the_pack, "address"], capture_output=True, text=True, check=False)
    assert started.stderr.startswith("The environment of the policy pack is missing. Run `python ")


def test_a_python_without_the_package_is_refused(here: Layout) -> None:
    ended = run_install(here, "-S", "-I")
    assert ended.returncode == 1
    assert "has no vertex_training and no vertex_cluster. Run this script with the Python" in ended.stderr


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
