from __future__ import annotations

import pytest

from vertex_training.fields.resource_names import collection, resource_id


@pytest.mark.parametrize(
    "name, expected",
    [
        ("projects/1/locations/us-central1/customJobs/2", ("customJobs", "2")),
        ("customJobs/2", ("customJobs", "2")),
        ("2", ("", "2")),
        ("", ("", "")),
    ],
)
def test_a_name_is_split_into_collection_and_id(name: str, expected: tuple[str, str]) -> None:
    assert (collection(name), resource_id(name)) == expected
