"""Work in a thread of its own, for which the end of the emulator does not wait."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from vertex_emulator.kernel.database import DatabaseClosedError

log = logging.getLogger(__name__)


def begin(name: str, work: Callable[[], object]) -> None:
    """Run `work` in a thread. The end of the emulator cuts it off, as a kill does."""

    def run() -> None:
        try:
            work()
        except DatabaseClosedError:
            log.info("%s: the emulator stopped first", name)

    threading.Thread(target=run, name=name, daemon=True).start()
