"""Pulumi's SDK in the process of the plugin: its messages alone, until a component needs the rest."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import threading
import types

_PACKAGES = ("pulumi", "pulumi.runtime")
_LOADING = threading.Lock()
_LONGEST = 400 << 20
"""The most bytes of a message, as in the engine."""
CHANNEL_OPTIONS = (("grpc.max_receive_message_length", _LONGEST), ("grpc.max_send_message_length", _LONGEST))


def load_messages_alone() -> None:
    """Let `pulumi.runtime.proto` be imported without `pulumi`, which takes half a second."""
    for name in _PACKAGES:
        spec = importlib.util.find_spec(name)
        module = types.ModuleType(name)
        module.__path__ = list(spec.submodule_search_locations or ()) if spec else []
        sys.modules[name] = module


def load() -> None:
    """Import the rest. The messages stay the same."""
    with _LOADING:
        if not hasattr(sys.modules.get("pulumi"), "ComponentResource"):
            for name in _PACKAGES:
                sys.modules.pop(name, None)
            importlib.import_module("pulumi")
