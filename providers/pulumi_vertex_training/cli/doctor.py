"""`doctor`: what this machine has of what is needed, and what to do about what is missing."""

from __future__ import annotations

import argparse

from pulumi_vertex_training.cli import machine
from pulumi_vertex_training.cli.checkup import Finding, findings
from pulumi_vertex_training.views.failure import FAILED
from pulumi_vertex_training.views.output import Output

_STYLES = {"ok": "green", "note": "dim", "warning": "yellow", "error": "red"}


def doctor(options: argparse.Namespace, output: Output) -> int:
    """The command `doctor`; 1 when something is an error. Changes and starts nothing."""
    found = findings(machine.look(options.data_dir))
    if output.as_json:
        output.document({"findings": [_document(finding) for finding in found]})
    else:
        for finding in found:
            level = output.paint(f"{finding.level:<7}", _STYLES[finding.level])
            output.line(f"{level}  {finding.about}: {finding.message}.")
            if finding.remedy:
                output.paragraph(finding.remedy, indent=9)
    return FAILED if any(finding.level == "error" for finding in found) else 0


def _document(finding: Finding) -> dict[str, str]:
    return {
        "about": finding.about,
        "level": finding.level,
        "message": finding.message,
        "remedy": finding.remedy,
    }
