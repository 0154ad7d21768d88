"""The examples of the reference, in one program: the real engine previews all of them without an error."""

from __future__ import annotations

import re

import pytest

from scripts.arguments.catalog import RESOURCES
from scripts.reference import examples
from support.client.engine import Engine

PROGRAMS = [examples.of_resource(resource.name) for resource in RESOURCES]
FUNCTIONS = [
    examples.shown(examples.FOLDER / "functions" / f"{name}.py") for name in ("worker_pools", "tuning")
]
FILES = {
    "trainer/task.py": "print('trained')\n",
    "trainer/__init__.py": "",
    "train.py": "print('trained')\n",
    "digits.csv": "1,2\n",
    "pictures/cat.jpg": "a picture\n",
    "pictures/drafts/dog.jpg": "another one\n",
}


@pytest.fixture(scope="module")
def output(shared_engine: Engine) -> str:
    """Return the output of the preview of all examples."""
    for name, text in FILES.items():
        file = shared_engine.folder / "infra" / name
        file.parent.mkdir(exist_ok=True, parents=True)
        file.write_text(text)
    shared_engine.set("vertex-training:lookupTimeout", "0")  # the examples name images of the reader
    shared_engine.write("\n\n".join([*PROGRAMS, *FUNCTIONS]))
    return shared_engine.preview().ok().output


def test_each_example_declares_its_resource(output: str) -> None:
    planned = set(re.findall(r"^ *\+ +\S+:(\w+) ", output, re.MULTILINE))
    assert {resource.name for resource in RESOURCES} <= planned
