"""Run the command as `python -m pulumi_vertex_training.cli`, for when it is not on PATH."""

from __future__ import annotations

import sys

from pulumi_vertex_training.cli.main import main

sys.exit(main())
