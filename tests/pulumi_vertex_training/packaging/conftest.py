"""Writes small source trees."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

WriteTree = Callable[[str, Mapping[str, str]], Path]


@pytest.fixture
def tree(tmp_path: Path) -> WriteTree:
    """Writes files below a new folder of this name and returns the folder."""

    def write(name: str, files: Mapping[str, str]) -> Path:
        root = tmp_path / name
        root.mkdir(parents=True, exist_ok=True)
        for path, text in files.items():
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        return root

    return write
