"""Checks of the network that a job joins: its peering with Google's services, or its network attachment."""

from __future__ import annotations

import functools
import shlex
from collections.abc import Iterator

from pulumi_vertex_training.cloud.project import compute
from pulumi_vertex_training.preflight import remedies
from pulumi_vertex_training.preflight.checks.capacity import COMPUTE_VIEWER
from pulumi_vertex_training.preflight.finding import Finding, Thing
from pulumi_vertex_training.preflight.question import Check, Facts, Question, Trouble
from pulumi_vertex_training.preflight.scope import Scope, by_name, member_of_caller, not_known
from pulumi_vertex_training.preflight.subject import Part

_PEERING_PAGE = "https://cloud.google.com/vertex-ai/docs/general/vpc-peering"


def checks(scope: Scope) -> Iterator[Check]:
    """Yield the checks of networks and network attachments."""
    for network, (part, path) in by_name(_networks(scope)).items():
        yield _none(f"network {network}", part, path) if scope.is_emulator else _network(network, part, path)
    for name, (part, path) in by_name(_attachments(scope)).items():
        yield (
            _none(f"network attachment {name}", part, path)
            if scope.is_emulator
            else _attachment(name, part, path)
        )


def _networks(scope: Scope) -> Iterator[tuple[str, Part, str]]:
    for part in scope.parts:
        path = part.at("network")
        if part.spec.network and part.subject.looks_up(path, part.spec.network):
            yield part.spec.network, part, path


def _attachments(scope: Scope) -> Iterator[tuple[str, Part, str]]:
    for part in scope.parts:
        path = part.at("psc_interface_config.network_attachment")
        config = part.spec.psc_interface_config
        name = config.network_attachment if config is not None else None
        if name and part.subject.looks_up(path, name):
            yield name, part, path


def _none(about: str, part: Part, path: str) -> Check:
    finding = Thing(check="network", about=about, resource=part.subject.name, path=path).finding(
        "unknown", "the emulator has no networks"
    )
    return Check(questions=(), judge=lambda _: [finding])


def _network(network: str, part: Part, path: str) -> Check:
    question: Question[bool] = Question(
        key=f"network:{network}", look=functools.partial(compute.is_peered, network=network)
    )
    thing = Thing(check="network", about=f"network {network}", resource=part.subject.name, path=path)
    project, name = network.split("/")[1], network.rpartition("/")[2]

    def judge(facts: Facts) -> Iterator[Finding]:
        answer = facts.of(question)
        if isinstance(answer, Trouble):
            if answer.cause == "missing":
                remedy = f"gcloud compute networks list --project={shlex.quote(project)}"
                yield thing.finding("error", "does not exist", remedy=remedy)
            else:
                remedy = remedies.on_project(project, member_of_caller(facts), COMPUTE_VIEWER)
                yield not_known(thing, answer, remedy=remedy)
        elif answer:
            message = "peered with Google's services"
            yield thing.finding("ok", message)
        elif part.subject.makes(name):
            yield thing.finding("ok", "present, and the deployment peers it with Google's services")
        else:
            yield thing.finding(
                "error",
                "is not peered with Google's services, as the machines of a job need it. RANGE is an address "
                f"range that is allocated for them: see {_PEERING_PAGE}",
                remedy=f"gcloud services vpc-peerings connect --network={shlex.quote(name)} "
                f"--project={shlex.quote(project)} --service=servicenetworking.googleapis.com "
                "--ranges=RANGE",
            )

    return Check(questions=(question,), judge=judge)


def _attachment(name: str, part: Part, path: str) -> Check:
    question: Question[str] = Question(
        key=f"attachment:{name}", look=functools.partial(compute.attachment_accepts, name=name)
    )
    thing = Thing(check="network", about=f"network attachment {name}", resource=part.subject.name, path=path)
    words = [*name.split("/"), *[""] * 6]

    def judge(facts: Facts) -> Iterator[Finding]:
        answer = facts.of(question)
        if not isinstance(answer, Trouble):
            message = f"present, {answer}" if answer else "present"
            yield thing.finding("ok", message)
        elif answer.cause == "missing":
            yield thing.finding(
                "error",
                "does not exist",
                remedy=f"gcloud compute network-attachments create {shlex.quote(words[5])} "
                f"--project={shlex.quote(words[1])} --region={shlex.quote(words[3])} "
                "--connection-preference=ACCEPT_AUTOMATIC --subnets=SUBNETWORK",
            )
        else:
            remedy = remedies.on_project(words[1], member_of_caller(facts), COMPUTE_VIEWER)
            yield not_known(thing, answer, remedy=remedy)

    return Check(questions=(question,), judge=judge)
