"""Source distributions of scripts, folders and projects."""

from __future__ import annotations

from functools import partial

from pulumi_vertex_training.packaging.build import build_package

build_sdist = partial(build_package, format="sdist")
