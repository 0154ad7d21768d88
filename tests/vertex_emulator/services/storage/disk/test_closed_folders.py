"""Folders of a bucket that a program has closed to the emulator."""

from __future__ import annotations

from support.emulated.other_user import reachable_folder, run

CLOSED = """
import sys
from pathlib import Path
from vertex_emulator.kernel.disk.data_folder import prepare
from vertex_emulator.services.storage.disk.files import ObjectFiles
folder = prepare(Path(sys.argv[1]))
files = ObjectFiles(folder)
files.make_bucket("b")
(folder.buckets / "b" / "fine").write_text("x")
closed = folder.buckets / "b" / "d"
closed.mkdir()
(closed / "o").write_text("x")
for mode in (0o000, 0o600, 0o300):
    closed.chmod(mode)
    found = [name for name, _ in files.changes("b", "", {}, [])]
    assert sorted(found) == (["d/", "fine"] if mode == 0o600 else ["fine"]), (oct(mode), found)
    assert files.state("b", ("d", "o")) is None
    assert not files.make_parents("b", ("d", "new"))
closed.chmod(0o700)
assert sorted(name for name, _ in files.changes("b", "", {}, [])) == ["d/", "d/o", "fine"]
"""


def test_a_folder_that_a_program_closed() -> None:
    """Close a folder: it has no objects then, and the rest of the bucket stays usable."""
    with reachable_folder() as folder:  # no folder is closed to root
        ended = run("-c", CLOSED, folder / "data", home=folder)
    assert ended.returncode == 0, ended.stdout
