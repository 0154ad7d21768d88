"""The programs that Pulumi starts as the plugin: they run the installed Python package.

A launcher passes its version on: the plugin refuses to work for one of another version than the package.
Imports nothing of this project, so that the release can write one before anything is installed.
"""

from __future__ import annotations

import shlex

NAME = "vertex-training"
PROGRAM = f"pulumi-resource-{NAME}"
OPTION = "--launcher="
"""The beginning of the argument with the version of the launcher."""

_OF_THIS_PYTHON = """#!/bin/sh
# Written by `vertex-training plugin install`, for Pulumi programs in YAML, TypeScript and other languages.
if [ ! -x {python} ]; then
  echo "the Python of the plugin {name} is gone ({path}); run 'vertex-training plugin install' again" >&2
  exit 1
fi
exec {python} -m pulumi_vertex_training.package {option}{version} "$@"
"""
_OF_ANY_PYTHON = """#!/bin/sh
# The Pulumi plugin {name} {version}: it runs the Python package pulumi-vertex-training.
find='import importlib.util as found, sys; sys.exit(found.find_spec("pulumi_vertex_training") is None)'
for python in ${{VIRTUAL_ENV:+"$VIRTUAL_ENV/bin/python"}} venv/bin/python .venv/bin/python python3 python; do
  if "$python" -c "$find" 2>/dev/null; then
    exec "$python" -m pulumi_vertex_training.package {option}{version} "$@"
  fi
done
echo "the plugin {name} {version} needs its Python package, which no Python on PATH has; run:" \\
  "pip install 'pulumi-vertex-training=={version}'" >&2
exit 1
"""


def of_this_python(version: str, python: str) -> str:
    """Return the launcher that runs the package with a certain Python."""
    words = {"name": NAME, "option": OPTION, "version": version}
    return _OF_THIS_PYTHON.format(python=shlex.quote(python), path=python, **words)


def of_any_python(version: str) -> str:
    """Return the launcher that looks for the Python with the package: the environment's, or that on PATH."""
    return _OF_ANY_PYTHON.format(name=NAME, option=OPTION, version=version)


def other_version(launcher: str, package: str) -> str:
    """Return why a launcher of a version cannot work for a package, with the command; "" if it can."""
    if launcher in ("", package):
        return ""
    return (
        f"the plugin {NAME} has version {launcher}, and starts pulumi-vertex-training {package}. Run "
        f"`vertex-training plugin install`, and if the program names version {launcher}, "
        f"`pip install pulumi-vertex-training=={launcher}` instead."
    )
