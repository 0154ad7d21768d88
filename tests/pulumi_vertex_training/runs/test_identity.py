"""The key of a run."""

from __future__ import annotations

import pytest

from pulumi_vertex_training.runs.identity import RunKey, new_identity, parse, same_name, with_number


def test_identities_are_unique_and_their_runs_are_counted() -> None:
    identities = {new_identity() for _ in range(1000)}
    assert len(identities) == 1000
    first = RunKey(identity=identities.pop(), generation=1)
    assert str(first.next()) == f"{first.identity}-2"
    assert parse(str(first.next())) == first.next()


def test_an_identity_of_the_same_seed_is_the_same() -> None:
    assert new_identity(b"one") == new_identity(b"one") != new_identity(b"two")


@pytest.mark.parametrize("seed", [b"", b"seed"])
def test_a_key_fits_a_label(seed: bytes) -> None:
    key = str(RunKey(identity=new_identity(seed), generation=1000))
    assert len(key) <= 63
    assert set(key) <= set("0123456789abcdef-")


def test_the_number_of_a_run_stands_in_its_display_name() -> None:
    assert with_number("train {run}, run {run}", "ab-12") == "train 12, run 12"
    assert with_number("train {runs} {}", "no key") == "train {runs} {}"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("fit 2", "fit 3", True),
        ("fit", "fit", True),
        ("fit 2 of 2", "fit 3 of 3", True),
        ("fit 2", "run 3", False),
        ("fit 22", "fit 33", False),
        ("fit", "fit 3", False),
    ],
)
def test_names_that_differ_in_the_number_alone_are_the_same(one: str, other: str, same: bool) -> None:
    assert same_name(one, "ab-2", other, "ab-3") is same
