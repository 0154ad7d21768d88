"""Run the command as `python -m vertex_emulator.command`, for when it is not on PATH."""

from __future__ import annotations

import sys

from vertex_emulator.command.main import main

sys.exit(main())
