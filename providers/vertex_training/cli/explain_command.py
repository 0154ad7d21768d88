"""`explain`: what a declaration is, what is wrong with it, and what each replica of it sees."""

from __future__ import annotations

import argparse
import sys

from vertex_training.cli import check_switches, explain_json, explain_view, explanation, files
from vertex_training.cli.explanation import Explanation
from vertex_training.cli.failure import BAD_INPUT, CommandError, InputError, did_you_mean
from vertex_training.cli.output import Output
from vertex_training.specs import persistent_resource
from vertex_training.specs.persistent_resource import PersistentResource


def explain(options: argparse.Namespace, output: Output) -> int:
    """Exit code 2 when there are errors; what can be said beside them is said all the same."""
    checks = check_switches.of_options(options)
    try:
        value = files.read(options.file)
        resource = _persistent_resource(options.persistent_resource)
    except CommandError as error:
        if not output.as_json:
            raise
        output.document(explain_json.refused(str(error), error.path))
        return error.exit_code
    explained = explanation.explanation_of(
        value,
        options=checks,
        contract=options.contract,
        trial=options.trial,
        settings=check_switches.settings_name(checks.framework),
        resource=resource,
    )
    if options.replica is not None:
        _one_replica(explained, options.replica, output)
    elif output.as_json:
        explain_json.write(explained, explained.replicas, sys.stdout.write)
    else:
        explain_view.show(explained, output, file=options.file)
    return BAD_INPUT if explained.errors else 0


def _persistent_resource(name: str | None) -> PersistentResource | None:
    if name is None:
        return None
    decoded = persistent_resource.read(files.read(name, argument="--persistent-resource"))
    if decoded.spec is None:
        raise InputError(
            "; ".join(str(problem) for problem in decoded.problems)
            + f". {name} is to hold what `gcloud ai persistent-resources describe` prints.",
            path="--persistent-resource",
        )
    return decoded.spec


def _one_replica(explained: Explanation, name: str, output: Output) -> None:
    """The environment of one replica alone: lines for a shell or a file of variables; or JSON."""
    found = [replica for replica in explained.replicas if name in replica.names]
    if not found and not explained.errors:
        names = [each for replica in explained.replicas for each in replica.names]
        known = f"Replicas: {explain_view.some_of(names)}." if names else "Its replicas cannot be listed."
        raise InputError(
            f"The job has no replica {name!r}.{did_you_mean(name, names)} {known}", path="--replica"
        )
    if output.as_json:
        explain_json.write(explained, found, sys.stdout.write)
        return
    output.errors(
        [{"message": explain_view.sentence(problem), "path": problem.path} for problem in explained.errors]
    )
    for replica in found:
        legacy = replica.ai_platform
        here = legacy if legacy is not None and name == legacy.name else replica.environment
        for line in explain_view.assignments(here.as_variables().items()):
            output.line(line)
