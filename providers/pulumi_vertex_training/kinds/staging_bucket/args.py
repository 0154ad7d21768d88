"""Typed arguments of a bucket, named and shaped like the API's messages. Plain dictionaries work as well."""

from __future__ import annotations

from collections.abc import Sequence

from pulumi import Input

from pulumi_vertex_training.program.job_args import arguments_class


@arguments_class
class LifecycleActionArgs:
    """Action of a lifecycle rule.

    `type` is Delete, SetStorageClass (with `storage_class`) or AbortIncompleteMultipartUpload.
    """

    type: Input[str]
    storage_class: Input[str] | None = None


@arguments_class
class LifecycleConditionArgs:
    """Conditions of a lifecycle rule; all must hold. Ages and periods are in days, dates YYYY-MM-DD."""

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
    """Lifecycle rule: an action on every object that meets the condition."""

    action: Input[LifecycleActionArgs]
    condition: Input[LifecycleConditionArgs]


@arguments_class
class AutoclassArgs:
    """Autoclass: objects move between storage classes as they are used.

    `terminal_storage_class` is the class of objects that nobody reads: NEARLINE (default) or ARCHIVE.
    """

    enabled: Input[bool]
    terminal_storage_class: Input[str] | None = None


@arguments_class
class CorsRuleArgs:
    """CORS rule: requests that pages of other origins may send. Browsers cache it `max_age_seconds` long."""

    origin: Input[Sequence[Input[str]]]
    method: Input[Sequence[Input[str]]]
    response_header: Input[Sequence[Input[str]]] | None = None
    max_age_seconds: Input[int] | None = None


@arguments_class
class RetentionPolicyArgs:
    """Retention policy: objects younger than `retention_period` seconds cannot be deleted or replaced.

    `is_locked` is permanent: you can lengthen the period of a locked policy, but never shorten or remove it.
    """

    retention_period: Input[int]
    is_locked: Input[bool] | None = None


@arguments_class
class SoftDeletePolicyArgs:
    """Soft delete: seconds for which deleted objects can be restored; 0, or 7 to 90 days."""

    retention_duration_seconds: Input[int]


@arguments_class
class EncryptionEnforcementArgs:
    """Restriction of one kind of encryption for new objects: `NotRestricted` or `FullyRestricted`."""

    restriction_mode: Input[str]


@arguments_class
class BucketEncryptionArgs:
    """Default encryption key of new objects, and the kinds of keys that they may use."""

    default_kms_key_name: Input[str] | None = None
    google_managed_encryption_enforcement_config: Input[EncryptionEnforcementArgs] | None = None
    customer_managed_encryption_enforcement_config: Input[EncryptionEnforcementArgs] | None = None
    customer_supplied_encryption_enforcement_config: Input[EncryptionEnforcementArgs] | None = None


@arguments_class
class BucketLoggingArgs:
    """Bucket for usage logs. The prefix of the log objects defaults to the name of the logged bucket."""

    log_bucket: Input[str]
    log_object_prefix: Input[str] | None = None


@arguments_class
class WebsiteArgs:
    """Objects served as a folder's index page and as the page for missing objects."""

    main_page_suffix: Input[str] | None = None
    not_found_page: Input[str] | None = None


@arguments_class
class CustomPlacementConfigArgs:
    """The two regions of a configurable dual-region."""

    data_locations: Input[Sequence[Input[str]]]


@arguments_class
class PublicNetworkSourceArgs:
    """Public IP ranges that may reach the bucket, such as 203.0.113.0/24."""

    allowed_ip_cidr_ranges: Input[Sequence[Input[str]]]


@arguments_class
class VpcNetworkSourceArgs:
    """VPC network, projects/PROJECT/global/networks/NETWORK, and its IP ranges that may reach the bucket."""

    network: Input[str]
    allowed_ip_cidr_ranges: Input[Sequence[Input[str]]]


@arguments_class
class IpFilterArgs:
    """IP filter: the networks that may reach the bucket. `mode` is Enabled or Disabled."""

    mode: Input[str]
    public_network_source: Input[PublicNetworkSourceArgs] | None = None
    vpc_network_sources: Input[Sequence[Input[VpcNetworkSourceArgs]]] | None = None
    allow_cross_org_vpcs: Input[bool] | None = None
    allow_all_service_agent_access: Input[bool] | None = None
