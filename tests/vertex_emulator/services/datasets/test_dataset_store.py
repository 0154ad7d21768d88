"""The tables of datasets."""

from __future__ import annotations

from pathlib import Path

import pytest

from vertex_emulator.kernel.clock import Clock
from vertex_emulator.kernel.database import connect
from vertex_emulator.kernel.projects import Place
from vertex_emulator.server.rpc import descriptors
from vertex_emulator.services.datasets.contents import DataError, Item
from vertex_emulator.services.datasets.store import DATASET, DatasetStore


def test_items_of_a_dataset_that_was_deleted_during_the_import(tmp_path: Path) -> None:
    """Check that no item is stored, because nothing could delete it."""
    store = DatasetStore(connect(tmp_path / "emulator.db"), Clock(tmp_path / "clock.json"))
    place = Place(project="p", location="us-central1")
    store.insert(place, "1", descriptors.message(DATASET))
    item = Item(content={"textContent": "a"}, labels={})
    store.add_items("1", [item])
    record = store.get(place, "1")
    assert record is not None
    store.remove(record)
    with pytest.raises(DataError, match="was deleted"):
        store.add_items("1", [item])
    assert store.items("1") == []
