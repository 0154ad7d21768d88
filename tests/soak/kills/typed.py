"""Type a command in a lane's project, as a user does: `python typed.py up|down|unlock|refresh LOCAL PROJECT`.

`up`, `down` and `unlock` are the chores behind `make`, with state in the folder LOCAL and the program in the
folder PROJECT. `refresh` is plain `pulumi` in an activated shell.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[3])]

from scripts import stack  # noqa: E402
from scripts.environment import LOCAL_STACK  # noqa: E402
from scripts.layout import layout  # noqa: E402
from scripts.report import ChoreError, Report  # noqa: E402


def main(verb: str, local: str, project: str) -> int:
    here, report = layout(local=Path(local)), Report(sys.stdout)
    there = ["--cwd", project]
    try:
        match verb:
            case "up":
                return stack.up(here, report, stack=LOCAL_STACK, arguments=there)
            case "down":
                return stack.down(here, report, stack=LOCAL_STACK, arguments=there)
            case "unlock":
                return stack.unlock(here, report, stack=LOCAL_STACK, force=False)
            case "refresh":
                ready = stack.prepare(here, report, stack=LOCAL_STACK)
                sys.stdout.flush()
                options = ["--stack", LOCAL_STACK, "--yes", "--skip-preview", *there]
                os.execve(ready.cli.program, ["pulumi", "refresh", *options], ready.env)
    except ChoreError as error:
        print(error)
        return error.exit_code
    raise ValueError(verb)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
