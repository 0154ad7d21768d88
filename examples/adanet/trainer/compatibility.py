"""adanet 0.9.0 for TensorFlow 2.15, which has moved a module: `from compatibility import adanet`."""

import sys
import types

from tensorflow.python.checkpoint import graph_view

sys.modules["tensorflow.python.training.tracking"] = types.SimpleNamespace(graph_view=graph_view, __path__=[])
sys.modules["tensorflow.python.training.tracking.graph_view"] = graph_view

import adanet  # noqa: E402

__all__ = ["adanet"]
