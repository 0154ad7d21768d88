from __future__ import annotations

import pytest
from google.cloud.aiplatform_v1 import AcceleratorType

from vertex_training.catalog import accelerators


def test_the_table_is_the_enum_of_the_installed_api():
    assert dict(accelerators.NUMBERS) == {member.name: member.value for member in AcceleratorType}


def test_unspecified_is_not_offered():
    assert accelerators.UNSPECIFIED not in accelerators.NAMES


@pytest.mark.parametrize("number", [3, 3.0])
def test_a_number_of_the_enum_becomes_its_name(number):
    assert accelerators.by_number(number) == "NVIDIA_TESLA_V100"


@pytest.mark.parametrize("value", ["NVIDIA_L4", 999, True, None])
def test_anything_else_stays_as_it_is(value):
    assert accelerators.by_number(value) is value
