"""The example of the page about pytest, run with the fixture that it shows."""

from __future__ import annotations

from scripts.reference.examples.functions.emulator_test import (
    test_a_busy_service_is_asked_again as test_a_busy_service_is_asked_again,
)
