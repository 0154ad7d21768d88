"""The roles of an account by the policies of a bucket and of its project."""

from __future__ import annotations

import pytest

from pulumi_vertex_training.cloud.project.access import Binding, Policy
from pulumi_vertex_training.preflight.policies import OBJECT_READERS, Answer, has_role

EMAIL = "trainer@p.iam.gserviceaccount.com"
ME = f"serviceAccount:{EMAIL}"
NEW_BUCKET: Policy = (
    Binding(role="roles/storage.legacyObjectOwner", members=("projectEditor:p", "projectOwner:p")),
    Binding(role="roles/storage.legacyObjectReader", members=("projectViewer:p",)),
)


def project(role: str, *members: str, is_conditional: bool = False) -> Policy:
    return (Binding(role=role, members=members, is_conditional=is_conditional),)


@pytest.mark.parametrize(
    ("policy", "answer"),
    [
        (project("roles/logging.viewer", ME), "no"),
        (project("roles/viewer", "serviceAccount:other@p.iam.gserviceaccount.com"), "no"),
        (project("roles/viewer", ME), "yes"),
        (project("roles/viewer", ME, is_conditional=True), "perhaps"),
        (project("roles/viewer", "group:all@example.com"), "perhaps"),
        (project("projects/p/roles/custom", ME), "perhaps"),
        (project("roles/storage.objectViewer", "allAuthenticatedUsers"), "yes"),
    ],
)
def test_those_with_a_role_in_the_project_reach_its_new_buckets(policy: Policy, answer: Answer) -> None:
    assert has_role(EMAIL, OBJECT_READERS, [NEW_BUCKET, policy], project="p") == answer


def test_the_roles_of_another_project_are_not_known() -> None:
    policy = project("roles/logging.viewer", ME)
    assert has_role(EMAIL, OBJECT_READERS, [NEW_BUCKET, policy], project="q") == "perhaps"
    assert has_role(EMAIL, OBJECT_READERS, [NEW_BUCKET]) == "perhaps"
