"""Lists of models and versions, compared with plain sorting."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import json_format
from hypothesis import given
from hypothesis import strategies as st

from support.emulated.services.pipelines import serving
from vertex_emulator.kernel import database
from vertex_emulator.kernel.clock import Clock, Setting
from vertex_emulator.kernel.projects import Place
from vertex_emulator.server.rpc import descriptors
from vertex_emulator.server.rpc.methods import RpcError
from vertex_emulator.server.rpc.operations import Operations
from vertex_emulator.services.models.service import ModelService
from vertex_emulator.services.models.store import MODEL
from vertex_emulator.services.resource_engine.operations import V1, ResourceOperations

PLACE = Place(project="local", location="us-central1")
NAMES = st.sampled_from(["a", "b", "B", "aa", "é"])
LABELS = st.sampled_from([{}, {"kind": "x"}, {"kind": "y"}])
TIMES = st.integers(0, 2)
"""The clock is frozen at one of few times, and is also set back."""

UPLOADS = st.lists(st.tuples(NAMES, LABELS, TIMES, st.integers(1, 3)), max_size=8)
ORDERS = st.lists(
    st.tuples(st.sampled_from(["display_name", "create_time", "update_time"]), st.booleans()), max_size=3
)
FILTERS = st.sampled_from(["", "labels.kind=x", 'display_name="a"', 'base_model_name="none"'])
KEYS: dict[str, Callable[[Any], Any]] = {
    "display_name": lambda model: model.display_name,
    "create_time": lambda model: model.create_time.ToNanoseconds(),
    "update_time": lambda model: model.update_time.ToNanoseconds(),
}
HOLDS: dict[str, Callable[[Any], bool]] = {
    "": lambda _: True,
    "labels.kind=x": lambda model: model.labels.get("kind") == "x",
    'display_name="a"': lambda model: model.display_name == "a",
    'base_model_name="none"': lambda _: False,
}


class Registry:
    """The models of one location, and a frozen clock."""

    def __init__(self, folder: Path) -> None:
        self.clock = Clock()
        opened = database.connect(folder / "state.db")
        operations = ResourceOperations(Operations(opened), self.clock)
        no_buckets: Any = None
        self.service: Any = ModelService(opened, operations, no_buckets, self.clock)
        self.names: list[str] = []

    def add(self, name: str, labels: dict[str, str], at: int, versions: int = 1) -> None:
        self.clock.setting = Setting(rate=0.0, utc=(1_700_000_000 + at) * 1_000_000)
        parent = ""
        for number in range(versions):
            model = json_format.ParseDict(
                serving(name, labels=labels if number == 0 else {"later": "y"}), descriptors.message(MODEL)
            )
            parent, _ = self.service.add(PLACE, model, parent_model=parent)
        self.names.append(parent)

    def clear(self) -> None:
        self.service.remove_all()
        self.names.clear()

    def plainly(self, order: Sequence[tuple[str, bool]], text: str) -> list[str]:
        """Return the names of all matching models, the latest first where the order does not decide."""
        found = [self.service.get(_request("GetModel", name=name)) for name in reversed(self.names)]
        for key, descending in reversed(order or [("create_time", True)]):
            found.sort(key=KEYS[key], reverse=descending)
        return [model.name for model in found if HOLDS[text](model)]

    def page(self, token: str = "", **fields: Any) -> Any:
        return self.service.models.list_page(
            _request("ListModels", parent=str(PLACE), page_token=token, **fields)
        )

    def pages(self, **fields: Any) -> Iterator[Any]:
        """Yield all pages, each requested when it is needed."""
        answer = self.page(**fields)
        yield answer
        while answer.next_page_token:
            answer = self.page(answer.next_page_token, **fields)
            yield answer


@pytest.fixture(scope="module")
def emptied(tmp_path_factory: pytest.TempPathFactory) -> Registry:
    return Registry(tmp_path_factory.mktemp("models"))


def _request(method: str, **fields: Any) -> Any:
    return descriptors.message(f"{V1}.{method}Request").__class__(**fields)


def _in_words(order: Sequence[tuple[str, bool]]) -> str:
    return ",".join(f"{field} desc" if descending else field for field, descending in order)


@given(uploads=UPLOADS, order=ORDERS, text=FILTERS, size=st.integers(1, 4))
def test_pages_are_as_if_all_were_sorted(
    emptied: Registry, uploads: list[Any], order: list[Any], text: str, size: int
) -> None:
    emptied.clear()
    for each in uploads:
        emptied.add(*each)
    found = [*emptied.pages(filter=text, order_by=_in_words(order), page_size=size)]
    shown = [model for page in found for model in page.models]
    assert [model.name for model in shown] == emptied.plainly(order, text)
    assert shown == [emptied.service.get(_request("GetModel", name=model.name)) for model in shown]
    assert all(len(page.models) == size for page in found[:-1])


@given(uploads=UPLOADS, added=st.lists(st.tuples(NAMES, LABELS, TIMES), min_size=1, max_size=4), order=ORDERS)
def test_a_model_added_between_pages_moves_nothing(
    emptied: Registry, uploads: list[Any], added: list[Any], order: list[Any]
) -> None:
    emptied.clear()
    for each in uploads:
        emptied.add(*each)
    expected = emptied.plainly(order, "")
    found: list[str] = []
    more = iter(added)
    for page in emptied.pages(order_by=_in_words(order), page_size=2):
        found += [model.name for model in page.models]
        for each in islice(more, 1):
            emptied.add(*each)
    assert len(set(found)) == len(found)
    assert [name for name in found if name in expected] == expected


def test_a_page_continues_after_a_deleted_model(emptied: Registry) -> None:
    emptied.clear()
    for name in ("a", "b", "c"):
        emptied.add(name, {}, 0)
    first = emptied.page(order_by="display_name", page_size=2)
    emptied.service.models.delete(_request("DeleteModel", name=emptied.names[1]))
    second = emptied.page(first.next_page_token, order_by="display_name", page_size=2)
    assert [model.display_name for model in second.models] == ["c"]


def test_versions_by_time_with_a_clock_set_back(emptied: Registry) -> None:
    emptied.clear()
    emptied.add("a", {}, 5)
    for at in (3, 4, 4):
        emptied.clock.setting = Setting(rate=0.0, utc=(1_700_000_000 + at) * 1_000_000)
        model = json_format.ParseDict(serving("a"), descriptors.message(MODEL))
        emptied.service.add(PLACE, model, parent_model=emptied.names[0])
    fields = {"name": emptied.names[0], "page_size": 1}
    found: list[str] = []
    token = ""
    while not found or token:
        answer = emptied.service.versions.list_page(_request("ListModelVersions", page_token=token, **fields))
        found += [model.version_id for model in answer.models]
        token = answer.next_page_token
    assert found == ["1", "2", "3", "4"]


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"order_by": "display_name desc"}, id="order"),
        pytest.param({"order_by": ""}, id="no-order"),
        pytest.param({"filter": "labels.kind=x"}, id="filter"),
        pytest.param({"parent": "projects/local/locations/us-east1"}, id="place"),
    ],
)
def test_a_token_is_valid_for_its_list_only(emptied: Registry, other: dict[str, str]) -> None:
    emptied.clear()
    for name in ("a", "b"):
        emptied.add(name, {}, 0)
    asked = {"parent": str(PLACE), "order_by": "display_name", "page_size": 1}
    token = emptied.service.models.list_page(_request("ListModels", **asked)).next_page_token
    with pytest.raises(RpcError, match="page token"):
        emptied.service.models.list_page(_request("ListModels", **{**asked, **other}, page_token=token))


def test_a_token_of_another_models_versions(emptied: Registry) -> None:
    emptied.clear()
    for name in ("a", "b"):
        emptied.add(name, {}, 0, 2)
    first, second = emptied.names
    listed = emptied.service.versions.list_page(_request("ListModelVersions", name=first, page_size=1))
    with pytest.raises(RpcError, match="page token"):
        emptied.service.versions.list_page(
            _request("ListModelVersions", name=second, page_size=1, page_token=listed.next_page_token)
        )
