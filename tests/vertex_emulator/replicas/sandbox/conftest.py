from __future__ import annotations

from support.emulated.job_fixtures import emulator, idle, sandbox

__all__ = ["emulator", "idle", "sandbox"]
