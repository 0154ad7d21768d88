"""The policy pack of Pulumi: passes each declared resource to the policies of `vertex_training.policy`.

The rules are in the package, so that `vertex-training plan` applies the same ones. This file needs Pulumi's
SDK for policies, and the pure package `vertex_training`: `python policies/install.py` installs both.
"""

from __future__ import annotations

import functools
import json
import os
import stat
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pulumi_policy.policy as sdk
from pulumi_policy import (
    EnforcementLevel,
    PolicyConfigSchema,
    PolicyPack,
    ReportViolation,
    ResourceValidationArgs,
    ResourceValidationPolicy,
)
from pulumi_policy.deserialize import SPECIAL_SECRET_SIG, SPECIAL_SIG_KEY, deserialize_properties
from pulumi_policy.proxy import UnknownValueError, unknown_checking_proxy

try:
    from vertex_training.cost import price_file
    from vertex_training.cost.prices import PriceTable, built_in
    from vertex_training.fields.values import UNKNOWN
    from vertex_training.policy import settings
    from vertex_training.policy.evaluation import DEFAULT_LEVEL, Configured, settings_of, violations
    from vertex_training.policy.policies import POLICIES, Policy
    from vertex_training.policy.subject import Subject, kind_of, paths_of, stack_of, subject_of
except ImportError as error:
    sys.exit(
        f"The environment of the policy pack does not fit it: {error}. "
        f"Run `python {Path(__file__).parent / 'install.py'}`. If that does not help, copy this folder again "
        "from the release of pulumi-vertex-training that you use."
    )

_STACK = "pulumi:pulumi:Stack"
_SENT = "vertex-training: inputs as the engine sent them"
_THREADS = 4
"""Threads of Pulumi's SDK; each passes one resource to all policies, one after the other."""

Deserialize = Callable[[dict[str, Any], bool], Any]


def with_sent(deserialize: Deserialize) -> Deserialize:
    """Return Pulumi's reader of inputs with the text of what the engine sent as one more input.

    Pulumi's SDK unwraps secrets before a policy sees them, and no message may show them.
    """

    def read(properties: dict[str, Any], proxy_secrets: bool = False) -> Any:
        found = deserialize(properties, proxy_secrets)
        return found if proxy_secrets else {**found, _SENT: json.dumps(properties)}

    return read


@functools.lru_cache(maxsize=_THREADS)
def declared(kind: str, name: str, stack: str, sent: str) -> Subject | None:
    """Return a resource by the text of its inputs. Pulumi's SDK reads them again for each policy."""
    properties = json.loads(sent)
    inputs = known(unknown_checking_proxy(deserialize_properties(properties)))
    secret = paths_of(properties, _is_secret)
    return subject_of(kind, name, stack, inputs, secret=secret)


def _is_secret(value: object) -> bool:
    return isinstance(value, dict) and value.get(SPECIAL_SIG_KEY) == SPECIAL_SECRET_SIG


def known(value: object) -> Any:
    """Return a value of the engine as plain data, with the package's mark for what is not known yet.

    Pulumi's SDK raises an error when a policy reads an unknown value.
    """
    if isinstance(value, Mapping):
        return {key: _item(value, key) for key in value}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_item(value, index) for index in range(len(value))]
    return value


def _item(container: Mapping[str, object] | Sequence[object], key: str | int) -> object:
    try:
        return known(container[key])
    except UnknownValueError:
        return UNKNOWN


@functools.cache
def prices() -> PriceTable:
    """Return the prices of the user's file over the built-in ones, as `vertex-training` calculates with them.

    They are read once in a deployment, and only for a limit of the cost. A damaged file counts as none.
    """
    try:
        path = Path(price_file.path_of(os.environ, Path.home))
        found = path.stat()
        if not stat.S_ISREG(found.st_mode) or found.st_size > price_file.LARGEST:
            return built_in()
        return price_file.table_with(price_file.rows_of(path.read_text(encoding="utf-8")))
    except (OSError, RuntimeError, ValueError):
        return built_in()


def _policy(policy: Policy) -> ResourceValidationPolicy:
    def validate(args: ResourceValidationArgs, report: ReportViolation) -> None:
        chosen, problems = settings_of(policy, args.get_config() or {})
        if chosen is None:  # reported once, with the stack
            if args.resource_type == _STACK:
                for problem in problems:
                    report(f"The configuration of the policy is wrong. {problem}", None)
            return
        kind = kind_of(args.resource_type)
        if kind is None:
            return
        subject = declared(kind, args.name, stack_of(args.urn), args.props[_SENT])
        if subject is None:
            return
        configured = Configured(policy=policy, level=DEFAULT_LEVEL, settings=chosen)
        for violation in violations(configured, subject, prices):
            if not violation.undecided:
                report(str(violation), None)

    return ResourceValidationPolicy(
        name=policy.name,
        description=policy.says,
        validate=validate,
        config_schema=PolicyConfigSchema(properties=settings.json_schema(policy.settings)),
    )


sdk.deserialize_properties = with_sent(deserialize_properties)

PolicyPack(
    name="vertex-training",
    enforcement_level=EnforcementLevel(DEFAULT_LEVEL),
    policies=[_policy(policy) for policy in POLICIES.values()],
)
