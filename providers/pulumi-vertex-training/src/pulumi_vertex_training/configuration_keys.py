"""The keys of a stack's configuration that this package reads: one declaration for the code and the docs.

`docs/reference/configuration.md` is made from `KEYS`. Imports nothing: every program reads the keys.
"""

from __future__ import annotations

from dataclasses import dataclass

NAMESPACE = "vertex-training"

LOOKUP_SECONDS = 2.0
PREFLIGHT_SECONDS = 10.0
MOST_LOOKUP_SECONDS = 600.0

ALIKE = 0.8
"""Least likeness of a key to a key of this package, from 0 to 1, for a warning about a mistake."""


@dataclass(frozen=True, kw_only=True)
class Key:
    """A key of the configuration, with its type, default and effect in words, and an example of its value.

    `name` has the namespace. `value` is None for a key that only `vertex-training` writes.
    """

    name: str
    type: str
    default: str
    effect: str
    value: str | None


ENDPOINT = Key(
    name=f"{NAMESPACE}:endpoint",
    type="`emulator` or `google`",
    default="`emulator`, with a warning in stacks other than `local`",
    effect="Where the stack is deployed: to the emulator on this machine, or to Google Cloud.",
    value="google",
)
FORM = Key(
    name=f"{NAMESPACE}:form",
    type="`dynamic` or `package`",
    default="`dynamic`",
    effect="How a program in Python deploys its resources: by Pulumi's dynamic providers, or by the plugin "
    "that serves the other languages. The command `migrate-state` moves a stack from one to the other: "
    "see docs/guides/programs/python-package.md.",
    value="package",
)
PROJECT = Key(
    name=f"{NAMESPACE}:project",
    type="project id",
    default="`gcp:project`, else `local` on the emulator",
    effect="Project of the resources that have none in the program. A change replaces them.",
    value="my-project",
)
LOCATION = Key(
    name=f"{NAMESPACE}:location",
    type="region",
    default="`gcp:region`, else `us-central1` on the emulator",
    effect="Location of the resources that have none in the program. A change replaces them.",
    value="europe-west4",
)
DATA_DIR = Key(
    name=f"{NAMESPACE}:dataDir",
    type="folder: an absolute path, or one that begins with `~`",
    default="`VERTEX_TRAINING_DATA_DIR`, else `vertex-training/emulator` in your data folder",
    effect="Data folder of the emulator that the stack uses. Stacks with the same folder share an emulator.",
    value="~/emulator",
)
LOOKUP_TIMEOUT = Key(
    name=f"{NAMESPACE}:lookupTimeout",
    type=f"seconds, from 0 to {MOST_LOOKUP_SECONDS:g}",
    default=f"`{LOOKUP_SECONDS:g}`, times `VERTEX_TRAINING_TIMEOUT_SCALE`",
    effect="How long a preview waits for the lookups of one resource. 0 turns off these lookups and the "
    "preflight.",
    value="5",
)
PREFLIGHT_TIMEOUT = Key(
    name=f"{NAMESPACE}:preflightTimeout",
    type=f"seconds, from 0 to {MOST_LOOKUP_SECONDS:g}",
    default=f"`{PREFLIGHT_SECONDS:g}`, times `VERTEX_TRAINING_TIMEOUT_SCALE`",
    effect="How long a preview waits for the preflight of a job on Google Cloud. 0 turns the preflight off. "
    "See docs/guides/cost/preflight.md.",
    value="20",
)
MAX_HOURLY_COST = Key(
    name=f"{NAMESPACE}:maxHourlyCost",
    type="US dollars above 0",
    default="no limit",
    effect="The most that all jobs and persistent resources of the stack may cost in an hour. A preview "
    "above "
    "it is refused. See docs/guides/cost/cost.md#limits.",
    value="20",
)
MAX_RUN_COST = Key(
    name=f"{NAMESPACE}:maxRunCost",
    type="US dollars above 0",
    default="no limit",
    effect="The most that one run may cost until its timeout. A preview above it is refused. "
    "See docs/guides/cost/cost.md#limits.",
    value="500",
)
ALLOW_UNKNOWN_PRICES = Key(
    name=f"{NAMESPACE}:allowUnknownPrices",
    type="`true` or `false`",
    default="`false`",
    effect="Accept resources without a known price. They then do not count. By default, a stack with "
    "one of the "
    "two limits above refuses them.",
    value="true",
)
POLICY_PACK = Key(
    name=f"{NAMESPACE}:policyPack",
    type="folder, relative to that of Pulumi.yaml",
    default="none",
    effect="Policy pack that `vertex-training apply` enforces. See docs/guides/cost/policies.md.",
    value="policies",
)
POLICY_CONFIG = Key(
    name=f"{NAMESPACE}:policyConfig",
    type="file, relative to the folder of Pulumi.yaml",
    default="none: all policies are advisory",
    effect="Settings of the policies. `vertex-training plan` shows violations even without a pack. "
    "See docs/guides/cost/policies.md.",
    value="policies/production.json",
)
PROMOTE = Key(
    name=f"{NAMESPACE}:promote",
    type="object with the lists `config` and `secrets`",
    default="none",
    effect="Names of the configuration values that `vertex-training promote` copies from the other stack. "
    "See docs/guides/teams/promotion.md.",
    value="--path 'vertex-training:promote.config[0]' epochs",
)
PROMOTED = Key(
    name=f"{NAMESPACE}:promoted",
    type="object",
    default="none",
    effect="Images and packages that the stack uses instead of building them. Do not set it: "
    "`vertex-training promote` does. See docs/guides/teams/promotion.md.",
    value=None,
)

KEYS = (
    ENDPOINT,
    PROJECT,
    LOCATION,
    FORM,
    DATA_DIR,
    LOOKUP_TIMEOUT,
    PREFLIGHT_TIMEOUT,
    MAX_HOURLY_COST,
    MAX_RUN_COST,
    ALLOW_UNKNOWN_PRICES,
    POLICY_PACK,
    POLICY_CONFIG,
    PROMOTE,
    PROMOTED,
)
"""All keys, in the order of the documentation."""
