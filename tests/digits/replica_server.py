"""Run the digits example in forks of this process, which has imported NumPy: that takes longer than a test.

Each line of standard input is a replica as JSON. The answer is the process id of its fork, whose exit code is
written to a file when it ends.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import traceback
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from digits_trainer import task


def _become(replica: Mapping[str, Any]) -> NoReturn:
    """Run the program in this fork."""
    code = 1
    try:
        for number, name in enumerate(("out", "err"), start=1):
            os.dup2(os.open(replica[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        os.chdir(replica["folder"])
        os.environ.clear()
        os.environ.update(replica["environment"])
        warnings.simplefilter("error")
        code = task.main(replica["arguments"])
    except SystemExit as error:  # of argparse
        code = int(error.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _watch(replica: Mapping[str, Any]) -> NoReturn:
    """Fork the replica, wait for its end, and write its exit code as `subprocess` has it."""
    pid = os.fork()
    if pid == 0:
        _become(replica)
    print(pid, flush=True)
    file = Path(replica["code"])
    unfinished = file.with_suffix(".new")
    unfinished.write_text(str(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])))
    unfinished.rename(file)
    os._exit(0)


def main() -> None:
    gc.freeze()
    watchers = []
    for line in sys.stdin:
        watchers.append(os.fork())
        if not watchers[-1]:
            _watch(json.loads(line))
    for pid in watchers:
        os.waitpid(pid, 0)


if __name__ == "__main__":
    main()
