"""Typed arguments of a bucket. Written by `make generate` from the messages: do not edit."""

from __future__ import annotations

from collections.abc import Sequence

from pulumi import Input

from pulumi_vertex_training.program.arguments.arguments_class import arguments_class


@arguments_class
class BucketVersioningArgs:
    """Versioning: a replaced or deleted object stays as a noncurrent version.

    :param enabled: Keep noncurrent versions of objects.
    """

    enabled: Input[bool]
    """Keep noncurrent versions of objects."""


@arguments_class
class LifecycleActionArgs:
    """Action of a lifecycle rule.

    :param type: Delete, SetStorageClass or AbortIncompleteMultipartUpload.
    :param storage_class: New storage class, only for SetStorageClass.
    """

    type: Input[str]
    """Delete, SetStorageClass or AbortIncompleteMultipartUpload."""
    storage_class: Input[str | None] = None
    """New storage class, only for SetStorageClass."""


@arguments_class
class LifecycleConditionArgs:
    """Conditions of a lifecycle rule; all must hold.

    :param age: Age of the object in days.
    :param created_before: Date (YYYY-MM-DD) before which the object was created.
    :param is_live: True for live objects, False for noncurrent versions.
    :param num_newer_versions: Number of newer versions that the object has.
    :param matches_prefixes: Prefixes of object names; one must match.
    :param matches_suffixes: Suffixes of object names; one must match.
    :param matches_storage_classes: Storage classes of the object; one must match.
    :param custom_time_before: Date (YYYY-MM-DD) before the object's custom time.
    :param days_since_custom_time: Days since the object's custom time.
    :param days_since_noncurrent_time: Days since the version became noncurrent.
    :param noncurrent_time_before: Date (YYYY-MM-DD) before which the version became noncurrent.
    """

    age: Input[int | None] = None
    """Age of the object in days."""
    created_before: Input[str | None] = None
    """Date (YYYY-MM-DD) before which the object was created."""
    is_live: Input[bool | None] = None
    """True for live objects, False for noncurrent versions."""
    num_newer_versions: Input[int | None] = None
    """Number of newer versions that the object has."""
    matches_prefixes: Input[Sequence[Input[str]] | None] = None
    """Prefixes of object names; one must match."""
    matches_suffixes: Input[Sequence[Input[str]] | None] = None
    """Suffixes of object names; one must match."""
    matches_storage_classes: Input[Sequence[Input[str]] | None] = None
    """Storage classes of the object; one must match."""
    custom_time_before: Input[str | None] = None
    """Date (YYYY-MM-DD) before the object's custom time."""
    days_since_custom_time: Input[int | None] = None
    """Days since the object's custom time."""
    days_since_noncurrent_time: Input[int | None] = None
    """Days since the version became noncurrent."""
    noncurrent_time_before: Input[str | None] = None
    """Date (YYYY-MM-DD) before which the version became noncurrent."""


@arguments_class
class LifecycleRuleArgs:
    """Rule of a bucket's lifecycle.

    :param action: Action on every object that meets the condition.
    :param condition: Conditions of the rule; all must hold.
    """

    action: Input[LifecycleActionArgs]
    """Action on every object that meets the condition."""
    condition: Input[LifecycleConditionArgs]
    """Conditions of the rule; all must hold."""


@arguments_class
class AutoclassArgs:
    """Autoclass: objects move between storage classes as they are used.

    :param enabled: Move objects between storage classes as they are used.
    :param terminal_storage_class: Storage class of objects that nobody reads: NEARLINE (the service's
        default) or ARCHIVE.
    """

    enabled: Input[bool]
    """Move objects between storage classes as they are used."""
    terminal_storage_class: Input[str | None] = None
    """Storage class of objects that nobody reads: NEARLINE (the service's default) or ARCHIVE."""


@arguments_class
class CorsRuleArgs:
    """CORS rule: requests that pages of other origins may send.

    :param origins: Origins whose pages may send requests; "*" for all.
    :param methods: HTTP methods that are allowed; "*" for all.
    :param response_headers: Response headers that pages may read.
    :param max_age_seconds: Seconds for which browsers cache the rule.
    """

    origins: Input[Sequence[Input[str]]]
    """Origins whose pages may send requests; "*" for all."""
    methods: Input[Sequence[Input[str]]]
    """HTTP methods that are allowed; "*" for all."""
    response_headers: Input[Sequence[Input[str]] | None] = None
    """Response headers that pages may read."""
    max_age_seconds: Input[int | None] = None
    """Seconds for which browsers cache the rule."""


@arguments_class
class RetentionPolicyArgs:
    """Retention policy: objects younger than `retention_period` seconds cannot be deleted or replaced.

    :param retention_period: Age in seconds below which an object cannot be deleted or replaced.
    :param is_locked: Lock the policy. This is permanent: you can lengthen the period of a locked policy, but
        never shorten or remove it.
    """

    retention_period: Input[int]
    """Age in seconds below which an object cannot be deleted or replaced."""
    is_locked: Input[bool | None] = None
    """Lock the policy. This is permanent: you can lengthen the period of a locked policy, but never shorten
    or remove it.
    """


@arguments_class
class SoftDeletePolicyArgs:
    """Soft delete: seconds for which deleted objects can be restored; 0 for off, 7 days by default.

    :param retention_duration_seconds: Seconds for which deleted objects can be restored: 0, or 7 to 90 days.
    """

    retention_duration_seconds: Input[int]
    """Seconds for which deleted objects can be restored: 0, or 7 to 90 days."""


@arguments_class
class EncryptionEnforcementArgs:
    """Restriction of one kind of encryption for new objects.

    :param restriction_mode: NotRestricted or FullyRestricted.
    """

    restriction_mode: Input[str]
    """NotRestricted or FullyRestricted."""


@arguments_class
class BucketEncryptionArgs:
    """Default encryption key of new objects, and the kinds of keys that they may use.

    :param default_kms_key_name: Full name of the key of new objects.
    :param google_managed_encryption_enforcement_config: Restriction of keys that Google manages.
    :param customer_managed_encryption_enforcement_config: Restriction of keys in Cloud KMS.
    :param customer_supplied_encryption_enforcement_config: Restriction of keys that come with a request.
    """

    default_kms_key_name: Input[str | None] = None
    """Full name of the key of new objects."""
    google_managed_encryption_enforcement_config: Input[EncryptionEnforcementArgs | None] = None
    """Restriction of keys that Google manages."""
    customer_managed_encryption_enforcement_config: Input[EncryptionEnforcementArgs | None] = None
    """Restriction of keys in Cloud KMS."""
    customer_supplied_encryption_enforcement_config: Input[EncryptionEnforcementArgs | None] = None
    """Restriction of keys that come with a request."""


@arguments_class
class BucketLoggingArgs:
    """Bucket for usage logs.

    :param log_bucket: Name of the bucket that gets the logs.
    :param log_object_prefix: Prefix of the log objects. Default: the name of the logged bucket.
    """

    log_bucket: Input[str]
    """Name of the bucket that gets the logs."""
    log_object_prefix: Input[str | None] = None
    """Prefix of the log objects. Default: the name of the logged bucket."""


@arguments_class
class WebsiteArgs:
    """Objects served as a folder's index page and as the page for missing objects.

    :param main_page_suffix: Object that is served for a folder, such as "index.html".
    :param not_found_page: Object that is served for a missing object, such as "404.html".
    """

    main_page_suffix: Input[str | None] = None
    """Object that is served for a folder, such as "index.html"."""
    not_found_page: Input[str | None] = None
    """Object that is served for a missing object, such as "404.html"."""


@arguments_class
class CustomPlacementConfigArgs:
    """The two regions of a configurable dual-region.

    :param data_locations: The two regions, such as US-EAST1 and US-WEST1.
    """

    data_locations: Input[Sequence[Input[str]]]
    """The two regions, such as US-EAST1 and US-WEST1."""


@arguments_class
class PublicNetworkSourceArgs:
    """Public IP ranges that may reach the bucket.

    :param allowed_ip_cidr_ranges: Public IP ranges that may reach the bucket, such as 203.0.113.0/24.
    """

    allowed_ip_cidr_ranges: Input[Sequence[Input[str]]]
    """Public IP ranges that may reach the bucket, such as 203.0.113.0/24."""


@arguments_class
class VpcNetworkSourceArgs:
    """VPC network, and its IP ranges that may reach the bucket.

    :param network: VPC network, projects/PROJECT/global/networks/NETWORK.
    :param allowed_ip_cidr_ranges: IP ranges of the network that may reach the bucket.
    """

    network: Input[str]
    """VPC network, projects/PROJECT/global/networks/NETWORK."""
    allowed_ip_cidr_ranges: Input[Sequence[Input[str]]]
    """IP ranges of the network that may reach the bucket."""


@arguments_class
class IpFilterArgs:
    """IP filter: the networks that may reach the bucket.

    :param mode: Enabled or Disabled.
    :param public_network_source: Public networks that may reach the bucket.
    :param vpc_network_sources: VPC networks that may reach the bucket.
    :param allow_cross_org_vpcs: Allow VPC networks of other organizations.
    :param allow_all_service_agent_access: Allow Google's service agents from any network.
    """

    mode: Input[str]
    """Enabled or Disabled."""
    public_network_source: Input[PublicNetworkSourceArgs | None] = None
    """Public networks that may reach the bucket."""
    vpc_network_sources: Input[Sequence[Input[VpcNetworkSourceArgs]] | None] = None
    """VPC networks that may reach the bucket."""
    allow_cross_org_vpcs: Input[bool | None] = None
    """Allow VPC networks of other organizations."""
    allow_all_service_agent_access: Input[bool | None] = None
    """Allow Google's service agents from any network."""
