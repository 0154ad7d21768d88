"""An emulator that sends itself SIGKILL right before a step of its store.

    emulator_that_dies.py FOLDER STEP [OCCURRENCE import|reset ARCHIVE]

With an archive it imports that, and resets itself if told so; otherwise it serves until a request gets to
the step. The warm interpreter knows this program by its name.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path

from vertex_emulator.client.control import Control
from vertex_emulator.daemon.daemon import Daemon, Settings


def main() -> None:
    folder, fatal, *more = sys.argv[1:]
    left = int(more[0]) if more else 1

    def kill(step: str) -> None:
        nonlocal left
        left -= step == fatal
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)

    daemon = Daemon(Settings(data_dir=Path(folder), step_hook=kill))
    daemon.start()
    if not more:
        threading.Event().wait()
    _, act, archive = more
    control = Control(url=daemon.url, token=daemon.token)
    control.import_state(Path(archive))
    if act == "reset":
        control.reset()


if __name__ == "__main__":
    main()
