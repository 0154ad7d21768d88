"""Distributed training on Vertex AI as Pulumi resources. Usually imported as `vt`.

`__init__.pyi` lists the names. Each is loaded on first use, so a program imports only the kinds that it uses.
"""

from __future__ import annotations

import lazy_loader

from pulumi_vertex_training import hidden_modules

hidden_modules.require_visible()

from pulumi_vertex_training.program.preview import declared_names  # noqa: E402 - after the check above

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

declared_names.collect()
