"""The findings about networks and network attachments in Google Cloud, over HTTP."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from support.client.services.google_project import NUMBER, REGION, GoogleProject
from support.client.services.preflights import JOB, bad, look
from vertex_training.job.job_spec import PscInterfaceConfig

ATTACHMENT = f"projects/my-project/regions/{REGION}/networkAttachments/mine"


@pytest.mark.parametrize(
    ("peerings", "level"),
    [
        (None, "error"),
        ([], "error"),
        ([{"name": "servicenetworking-googleapis-com", "state": "INACTIVE"}], "error"),
        ([{"name": "servicenetworking-googleapis-com", "state": "ACTIVE"}], "ok"),
    ],
)
def test_the_peering_of_a_network(google: GoogleProject, peerings: list[Any] | None, level: str) -> None:
    google.network = None if peerings is None else {"peerings": peerings}

    found = look(google, replace(JOB, network=f"projects/{NUMBER}/global/networks/mine"))

    (finding,) = [one for one in found if one.check == "network"]
    assert finding.level == level
    # Pasted into a shell, it is one command.
    assert not set("();&|") & set(finding.remedy)


@pytest.mark.parametrize(
    ("attachment", "level"), [(None, "error"), ({"connectionPreference": "ACCEPT_AUTOMATIC"}, "ok")]
)
def test_the_network_attachment_of_a_psc_interface(
    google: GoogleProject, attachment: dict[str, Any] | None, level: str
) -> None:
    google.attachment = attachment
    job = replace(JOB, psc_interface_config=PscInterfaceConfig(network_attachment=ATTACHMENT))

    (finding,) = [one for one in look(google, job) if one.check == "network"]

    assert finding.level == level
    assert (
        level == "ok"
        or f"network-attachments create mine --project=my-project --region={REGION}" in finding.remedy
    )


def test_a_network_that_the_deployment_makes_or_peers_is_not_missing(google: GoogleProject) -> None:
    job = replace(
        JOB,
        network=f"projects/{NUMBER}/global/networks/mine",
        psc_interface_config=PscInterfaceConfig(network_attachment=ATTACHMENT),
    )

    assert [one[0] for one in bad(look(google, job))] == ["network", "network"]
    assert bad(look(google, job, made=frozenset({"mine"}))) == []
