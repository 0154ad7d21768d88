"""Redirect Google's clients to the emulator. Python loads this module at its start, in every program.

Programs that use the emulator's proxy are not redirected. In a replica whose machine has accelerators, it
also gives TensorFlow as many devices. Without VERTEX_EMULATOR_HOST it changes nothing. At the end it loads
the `sitecustomize` that it hides, if there is one. It works with Python 3.7 and
later, and imports only modules that Python has loaded already.
"""

import importlib.machinery
import importlib.util
import os
import sys


def _redirect(url: str) -> None:
    try:
        importlib.import_module("vertex_training_redirect").install(url)
    except Exception as error:  # an error here must not keep the program from running
        sys.stderr.write(f"vertex-training: Google's clients cannot find the emulator: {error}\n")


def _divide(count: str) -> None:
    try:
        importlib.import_module("vertex_training_redirect").install_devices(int(count))
    except Exception as error:  # as above
        sys.stderr.write(f"vertex-training: TensorFlow cannot find {count} devices: {error}\n")


def _load_next() -> None:
    """Run the `sitecustomize` that comes next in the module search path, if there is one."""
    here = _folder(__file__)
    others = [entry for entry in sys.path if os.path.abspath(entry) != here]  # noqa: PTH100
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


def _folder(path: str) -> str:
    return os.path.dirname(os.path.abspath(path))  # noqa: PTH100, PTH120 - without importing pathlib


if os.environ.get("VERTEX_EMULATOR_HOST"):
    if "://emulator:" not in os.environ.get("https_proxy", ""):
        _redirect(os.environ["VERTEX_EMULATOR_HOST"])
    if os.environ.get("VERTEX_CLUSTER_LOCAL_DEVICES", "1") not in ("", "0", "1"):
        _divide(os.environ["VERTEX_CLUSTER_LOCAL_DEVICES"])
_load_next()
