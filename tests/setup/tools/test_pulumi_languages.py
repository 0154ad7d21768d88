"""The generator of SDKs and Pulumi's SDK for Node: installed once, and reported if they cannot be."""

from __future__ import annotations

import io
from pathlib import Path

from scripts.layout import layout
from scripts.report import Report
from scripts.tools import pulumi_languages

_GO = '#!/bin/sh\necho go >> "{log}"\necho > "$5"\n'
_NPM = '#!/bin/sh\necho npm "$1" "$2" >> "{log}"\nmkdir node_modules\n'


def test_both_are_installed_once_or_reported(tmp_path: Path, report: Report, printed: io.StringIO) -> None:
    here = layout(local=tmp_path / "local", environ={"XDG_CACHE_HOME": str(tmp_path / "cache")})
    log, folder = tmp_path / "log", tmp_path / "bin"
    folder.mkdir()
    pulumi_languages.ensure(here, report, environ={"PATH": str(folder)})
    assert "without pulumi-sdk, node_modules" in printed.getvalue()
    assert "Install Go" in printed.getvalue()
    assert "Install Node" in printed.getvalue()
    for name, script in (("go", _GO), ("npm", _NPM)):
        (folder / name).write_text(script.format(log=log))
        (folder / name).chmod(0o755)
    for _ in range(2):
        pulumi_languages.ensure(here, report, environ={"PATH": f"{folder}:/bin"})
        assert log.read_text().splitlines() == ["go", "npm ci --ignore-scripts"]
    assert pulumi_languages.generator(here).exists()
    assert pulumi_languages.node_modules(here).exists()
