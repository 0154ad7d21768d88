"""Typed arguments of a bucket, named and shaped as the API's messages; plain dictionaries do as well."""

from __future__ import annotations

from collections.abc import Sequence

from pulumi import Input

from pulumi_vertex_training.program.job_args import arguments_class


@arguments_class
class LifecycleActionArgs:
    """Delete, SetStorageClass (with `storage_class`) or AbortIncompleteMultipartUpload."""

    type: Input[str]
    storage_class: Input[str] | None = None


@arguments_class
class LifecycleConditionArgs:
    """When a rule applies: all that is given must hold. Ages and periods are in days, dates YYYY-MM-DD."""

    age: Input[int] | None = None
    created_before: Input[str] | None = None
    is_live: Input[bool] | None = None
    num_newer_versions: Input[int] | None = None
    matches_prefix: Input[Sequence[Input[str]]] | None = None
    matches_suffix: Input[Sequence[Input[str]]] | None = None
    matches_storage_class: Input[Sequence[Input[str]]] | None = None
    custom_time_before: Input[str] | None = None
    days_since_custom_time: Input[int] | None = None
    days_since_noncurrent_time: Input[int] | None = None
    noncurrent_time_before: Input[str] | None = None


@arguments_class
class LifecycleRuleArgs:
    """What becomes of objects that meet a condition."""

    action: Input[LifecycleActionArgs]
    condition: Input[LifecycleConditionArgs]


@arguments_class
class AutoclassArgs:
    """Objects move between storage classes by their use, in the end to `terminal_storage_class`: NEARLINE
    (default) or ARCHIVE.
    """

    enabled: Input[bool]
    terminal_storage_class: Input[str] | None = None


@arguments_class
class CorsRuleArgs:
    """What pages of other origins may do; browsers keep the answer for `max_age_seconds`."""

    origin: Input[Sequence[Input[str]]]
    method: Input[Sequence[Input[str]]]
    response_header: Input[Sequence[Input[str]]] | None = None
    max_age_seconds: Input[int] | None = None


@arguments_class
class RetentionPolicyArgs:
    """No object is deleted or replaced before it is `retention_period` seconds old. `is_locked` is for good:
    the period can be lengthened then, and the policy never taken off.
    """

    retention_period: Input[int]
    is_locked: Input[bool] | None = None


@arguments_class
class SoftDeletePolicyArgs:
    """How long, in seconds, what is deleted can be restored: 0, or 7 to 90 days."""

    retention_duration_seconds: Input[int]


@arguments_class
class EncryptionEnforcementArgs:
    """`NotRestricted`, or `FullyRestricted`: no new object may be encrypted in this way."""

    restriction_mode: Input[str]


@arguments_class
class BucketEncryptionArgs:
    """The key of objects that are written without one of their own, and which kinds of keys are allowed."""

    default_kms_key_name: Input[str] | None = None
    google_managed_encryption_enforcement_config: Input[EncryptionEnforcementArgs] | None = None
    customer_managed_encryption_enforcement_config: Input[EncryptionEnforcementArgs] | None = None
    customer_supplied_encryption_enforcement_config: Input[EncryptionEnforcementArgs] | None = None


@arguments_class
class BucketLoggingArgs:
    """The bucket that usage logs go to; their names begin with the prefix, or the logged bucket's name."""

    log_bucket: Input[str]
    log_object_prefix: Input[str] | None = None


@arguments_class
class WebsiteArgs:
    """The objects that stand for a folder, and for one that does not exist."""

    main_page_suffix: Input[str] | None = None
    not_found_page: Input[str] | None = None


@arguments_class
class CustomPlacementConfigArgs:
    """The two regions of a dual region of one's own choice."""

    data_locations: Input[Sequence[Input[str]]]


@arguments_class
class PublicNetworkSourceArgs:
    """The addresses of the internet that may reach the bucket, as 203.0.113.0/24."""

    allowed_ip_cidr_ranges: Input[Sequence[Input[str]]]


@arguments_class
class VpcNetworkSourceArgs:
    """A network, as projects/PROJECT/global/networks/NETWORK, and the addresses in it."""

    network: Input[str]
    allowed_ip_cidr_ranges: Input[Sequence[Input[str]]]


@arguments_class
class IpFilterArgs:
    """From where the bucket can be reached at all; `mode` is Enabled or Disabled."""

    mode: Input[str]
    public_network_source: Input[PublicNetworkSourceArgs] | None = None
    vpc_network_sources: Input[Sequence[Input[VpcNetworkSourceArgs]]] | None = None
    allow_cross_org_vpcs: Input[bool] | None = None
    allow_all_service_agent_access: Input[bool] | None = None
