"""Hostile configurations of images reach no file of this machine, and crash no supervisor."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from vertex_emulator.replicas.images.image import ReplicaImage
from vertex_emulator.replicas.preparation.unpacked_image import user_ids
from vertex_emulator.replicas.sandbox.mounts import image_root
from vertex_emulator.replicas.sandbox.mounts.image_root import ImageView, Layering


@pytest.mark.parametrize("working_dir", ["../../outside", "a/../../../outside", "/../outside"])
def test_a_working_directory_is_made_for_the_replica_alone(tmp_path: Path, working_dir: str) -> None:
    shown: list[str] = []

    class Recording(Layering):
        def show(self, sources: Sequence[Path], path: str) -> None:
            shown.append(path)

    root, scratch = tmp_path / "root", tmp_path / "a" / "scratch"
    root.mkdir()
    view = ImageView(folders=(root,), own=False, scratch=scratch, working_dir=working_dir)
    image_root._working_dir(view, Recording(root=root, scratch=scratch))
    assert shown == ["outside"]
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["scratch"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "root"]


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("x:x:²:0::/:/bin/sh", id="a digit of another kind"),
        pytest.param("x:x:1:³::/:/bin/sh", id="such a group"),
        pytest.param(f"x:x:{'9' * 5000}:0::/:/bin/sh", id="too many digits"),
    ],
)
def test_a_user_without_a_number_is_none(tmp_path: Path, line: str) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "passwd").write_text(line)
    with pytest.raises(LookupError, match="is not in its /etc/passwd"):
        user_ids(ReplicaImage(name="i", root="own", user="x"), [tmp_path])
