"""check-jsonschema in the test's process: its imports take a second."""

from __future__ import annotations

from check_jsonschema.cli.main_command import main
from click.testing import CliRunner, Result


def checked(*arguments: str) -> Result:
    """Run the command. Its result has the exit code and the output."""
    return CliRunner().invoke(main, arguments)
