"""The budget: counted before a request, whatever the order, and on the disk."""

from __future__ import annotations

import contextlib
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.verify_google import journal
from scripts.verify_google.budget import Budget, BudgetError
from scripts.verify_google.journal import Journal


def begun(folder: Path) -> Journal:
    return Journal.begin(
        folder, run=journal.new_run(), project="my-project", location="us-central1", budget=1.0
    )


def test_what_exceeds_it_is_not_counted(tmp_path: Path) -> None:
    log = begun(tmp_path)
    budget = Budget(1.0, log)
    budget.reserve(0.6, reason="a")
    with pytest.raises(BudgetError, match=r"b could cost \$0\.50\. With \$0\.60 counted already"):
        budget.reserve(0.5, reason="b")
    budget.reserve(0.4, reason="c")
    assert budget.reserved == pytest.approx(1.0)
    assert journal.read(log.path).spent == pytest.approx(1.0)


def test_a_refused_request_is_free(tmp_path: Path) -> None:
    log = begun(tmp_path)
    budget = Budget(1.0, log)
    budget.reserve(0.9, reason="a")
    budget.release(0.9, reason="a")
    budget.reserve(1.0, reason="b")
    assert journal.read(log.path).spent == pytest.approx(1.0)


def test_an_interrupted_run_counts(tmp_path: Path) -> None:
    budget = Budget(1.0, begun(tmp_path), carried=0.7)
    with pytest.raises(BudgetError):
        budget.reserve(0.4, reason="a")


def test_threads_share_it(tmp_path: Path) -> None:
    budget = Budget(1.0, begun(tmp_path))

    def reserve(number: int) -> bool:
        with contextlib.suppress(BudgetError):
            budget.reserve(0.1, reason=str(number))
            return True
        return False

    with ThreadPoolExecutor(max_workers=16) as pool:
        accepted = sum(pool.map(reserve, range(40)))
    assert accepted == 10
    assert budget.reserved == pytest.approx(1.0)


@given(
    limit=st.floats(0, 10),
    carried=st.floats(0, 5),
    costs=st.lists(st.tuples(st.floats(0, 3), st.booleans()), max_size=12),
)
def test_it_never_exceeds_its_limit(limit: float, carried: float, costs: list[tuple[float, bool]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        budget = Budget(limit, begun(Path(folder)), carried=carried)
        for cost, refused in costs:
            before = budget.reserved
            try:
                budget.reserve(cost, reason="a")
            except BudgetError:
                assert before + cost > limit
                continue
            assert budget.reserved <= limit + 1e-6
            if refused:
                budget.release(cost, reason="a")


@pytest.mark.parametrize("limit", [-1.0, float("nan"), float("inf")])
def test_it_is_a_number_of_dollars(tmp_path: Path, limit: float) -> None:
    with pytest.raises(ValueError, match="number of dollars"):
        Budget(limit, begun(tmp_path))
