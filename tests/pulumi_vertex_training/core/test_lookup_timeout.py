"""The stack's configuration of lookups."""

from __future__ import annotations

import pytest

from pulumi_vertex_training.core.settings import SettingsError, read


@pytest.mark.parametrize(("text", "seconds"), [(None, 2.0), ("", 2.0), ("0", 0.0), ("7.5", 7.5)])
def test_the_timeout_is_a_number_of_seconds(text: str | None, seconds: float) -> None:
    assert read({"vertex-training:lookupTimeout": text}.get, {}).lookup_seconds == seconds


@pytest.mark.parametrize("text", ["-1", "soon", "nan", "inf"])
def test_any_other_value_is_refused_with_the_remedy(text: str) -> None:
    with pytest.raises(SettingsError, match="Run `pulumi config set vertex-training:lookupTimeout 2`"):
        read({"vertex-training:lookupTimeout": text}.get)
