"""The keys of a stack's configuration that this package reads: one declaration for the code and the docs.

`docs/reference/configuration.md` is made from `KEYS`. Imports nothing: every program reads the keys.
"""

from __future__ import annotations

from dataclasses import dataclass

NAMESPACE = "vertex-training"

LOOKUP_SECONDS = 2.0
PREFLIGHT_SECONDS = 10.0
MOST_LOOKUP_SECONDS = 600.0


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
    effect="Where the stack deploys: the emulator on this machine, or Google Cloud.",
    value="google",
)
PROJECT = Key(
    name=f"{NAMESPACE}:project",
    type="project id",
    default="`gcp:project`, else `local` on the emulator",
    effect="Project of all resources that name none. A change replaces them.",
    value="my-project",
)
LOCATION = Key(
    name=f"{NAMESPACE}:location",
    type="region",
    default="`gcp:region`, else `us-central1` on the emulator",
    effect="Location of all resources that name none. A change replaces them.",
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
    default=f"`{LOOKUP_SECONDS:g}`",
    effect="How long a preview waits for the lookups of one resource. 0 turns them off, and the preflight.",
    value="5",
)
PREFLIGHT_TIMEOUT = Key(
    name=f"{NAMESPACE}:preflightTimeout",
    type=f"seconds, from 0 to {MOST_LOOKUP_SECONDS:g}",
    default=f"`{PREFLIGHT_SECONDS:g}`",
    effect="How long a preview waits for the preflight of a job on Google Cloud. 0 turns it off "
    "(docs/guides/cost/preflight.md).",
    value="20",
)
MAX_HOURLY_COST = Key(
    name=f"{NAMESPACE}:maxHourlyCost",
    type="US dollars above 0",
    default="no limit",
    effect="Refuse a preview whose jobs and persistent resources together cost more an hour "
    "(docs/guides/cost/cost.md).",
    value="20",
)
MAX_RUN_COST = Key(
    name=f"{NAMESPACE}:maxRunCost",
    type="US dollars above 0",
    default="no limit",
    effect="Refuse a preview with a job that can cost more until its timeout (docs/guides/cost/cost.md).",
    value="500",
)
ALLOW_UNKNOWN_PRICES = Key(
    name=f"{NAMESPACE}:allowUnknownPrices",
    type="`true` or `false`",
    default="`false`",
    effect="With a limit of cost, do not count what has no known price. By default it is refused.",
    value="true",
)
POLICY_PACK = Key(
    name=f"{NAMESPACE}:policyPack",
    type="folder, from that of Pulumi.yaml",
    default="none",
    effect="Policy pack that `vertex-training apply` enforces (docs/guides/cost/policies.md).",
    value="policies",
)
POLICY_CONFIG = Key(
    name=f"{NAMESPACE}:policyConfig",
    type="file, from the folder of Pulumi.yaml",
    default="none: all policies are advisory",
    effect="Settings of the policies, which `vertex-training plan` shows also without a pack "
    "(docs/guides/cost/policies.md).",
    value="policies/production.json",
)
PROMOTE = Key(
    name=f"{NAMESPACE}:promote",
    type="object with the lists `config` and `secrets`",
    default="none",
    effect="Names of the values that a promotion copies from the other stack "
    "(docs/guides/teams/promotion.md).",
    value="--path 'vertex-training:promote.config[0]' epochs",
)
PROMOTED = Key(
    name=f"{NAMESPACE}:promoted",
    type="object",
    default="none",
    effect="Images and packages that the stack uses instead of building them. "
    "`vertex-training promote` writes it (docs/guides/teams/promotion.md).",
    value=None,
)

KEYS = (
    ENDPOINT,
    PROJECT,
    LOCATION,
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
