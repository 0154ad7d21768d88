"""`python -m pulumi_vertex_training.cli`, where the command itself is not on PATH."""

from __future__ import annotations

import sys

from pulumi_vertex_training.cli.main import main

sys.exit(main())
