"""The declarations of the cases: rows of the parity page, costs, and the table in the guide."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scripts.reference import parity
from scripts.verify_google.cases import CASES
from scripts.verify_google.journal import new_run
from scripts.verify_google.plan import make_plan
from scripts.verify_google.prices import UnknownPriceError
from scripts.verify_google.recorder import Names

GUIDE = Path(__file__).resolve().parents[3] / "docs" / "architecture" / "verify-google.md"


def guide_table() -> str:
    plan = make_plan(CASES, location="us-central1", budget=None)

    def dollars(amount: float) -> str:
        return f"${amount:.2f}" if amount else "-"

    lines = [
        "| case | compares | rows of the parity page | expected | at most |",
        "| --- | --- | --- | --- | --- |",
    ]
    for case in CASES:
        costs = [dollars(case.expected_cost(plan.location)), dollars(case.highest_cost(plan.location))]
        lines.append(f"| {case.name} | {case.about} | {'<br>'.join(case.rows)} | {' | '.join(costs)} |")
    lines.append(f"| together | | | {dollars(plan.expected)} | {dollars(plan.highest)} |")
    return "\n".join(lines)


def test_the_guide_has_every_case(request: pytest.FixtureRequest) -> None:
    text = GUIDE.read_text(encoding="utf-8")
    made = re.sub(
        r"(?s)<!-- cases -->.*<!-- /cases -->",
        lambda _: f"<!-- cases -->\n{guide_table()}\n<!-- /cases -->",
        text,
    )
    if request.config.getoption("--record"):
        GUIDE.write_text(made, encoding="utf-8")
    assert GUIDE.read_text(encoding="utf-8") == made


def test_cases_are_about_rows_of_the_parity_page() -> None:
    assert {name for case in CASES for name in case.rows} <= {row.name for row in parity.current_rows()}


def test_names_are_unique_and_short_enough_for_a_bucket() -> None:
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names)
    for name in names:
        bucket = Names(run=new_run(), case=name, location="us-central1").bucket
        assert re.fullmatch(r"[a-z0-9][a-z0-9-]{1,61}[a-z0-9]", bucket)


def test_all_cases_fit_into_a_dollar() -> None:
    plan = make_plan(CASES, location="us-central1", budget=1.0)
    assert plan.left_out == {}
    assert plan.highest <= 1.0


def test_a_small_budget_takes_what_fits() -> None:
    plan = make_plan(CASES, location="us-central1", budget=0.2)
    assert plan.cases
    assert plan.left_out
    assert plan.highest <= 0.2
    assert {case.name for case in plan.cases} | set(plan.left_out) == {case.name for case in CASES}
    assert "of the budget of $0.20" in plan.left_out["distributed"]


def test_an_interrupted_run_leaves_less() -> None:
    plan = make_plan(CASES, location="us-central1", budget=1.0, carried=0.95)
    assert plan.highest <= 0.05 + 1e-9


def test_a_location_without_prices_is_refused() -> None:
    with pytest.raises(UnknownPriceError, match="europe-west4"):
        make_plan(CASES, location="europe-west4", budget=1.0)
