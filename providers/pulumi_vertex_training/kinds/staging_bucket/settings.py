"""The messages of a bucket's settings, named as in Cloud Storage's JSON API ("Buckets", resource)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

INT64 = {"int64": True}
"""Of fields that the API's JSON writes as strings of digits."""


@dataclass(frozen=True, kw_only=True)
class LifecycleAction:
    """What a rule does. `storage_class` belongs to SetStorageClass and to no other."""

    type: str
    storage_class: str | None = None


@dataclass(frozen=True, kw_only=True)
class LifecycleCondition:
    """When a rule applies: all that is given must hold. Ages and periods are in days, dates YYYY-MM-DD."""

    age: int | None = None
    created_before: str | None = None
    is_live: bool | None = None
    num_newer_versions: int | None = None
    matches_prefix: tuple[str, ...] = ()
    matches_suffix: tuple[str, ...] = ()
    matches_storage_class: tuple[str, ...] = ()
    custom_time_before: str | None = None
    days_since_custom_time: int | None = None
    days_since_noncurrent_time: int | None = None
    noncurrent_time_before: str | None = None


@dataclass(frozen=True, kw_only=True)
class LifecycleRule:
    """One rule of a bucket's lifecycle."""

    action: LifecycleAction
    condition: LifecycleCondition


@dataclass(frozen=True, kw_only=True)
class Autoclass:
    """Objects move between storage classes by their use; `terminal_storage_class` is where unused ones end:
    NEARLINE, which is the service's default, or ARCHIVE.
    """

    SERVER_OWNED: ClassVar[frozenset[str]] = frozenset({"toggle_time", "terminal_storage_class_update_time"})

    enabled: bool
    terminal_storage_class: str | None = None


@dataclass(frozen=True, kw_only=True)
class CorsRule:
    """What pages of other origins may do. `max_age_seconds` is how long browsers keep the answer."""

    origin: tuple[str, ...]
    method: tuple[str, ...]
    response_header: tuple[str, ...] = ()
    max_age_seconds: int | None = None


@dataclass(frozen=True, kw_only=True)
class RetentionPolicy:
    """No object is deleted or replaced before it is `retention_period` seconds old.

    `is_locked`: the period can only be lengthened from then on, and the policy never taken off.
    """

    SERVER_OWNED: ClassVar[frozenset[str]] = frozenset({"effective_time"})

    retention_period: int = field(metadata=INT64)
    is_locked: bool = False


@dataclass(frozen=True, kw_only=True)
class SoftDeletePolicy:
    """How long, in seconds, what is deleted can be restored; 0 is not at all; the default is 7 days."""

    SERVER_OWNED: ClassVar[frozenset[str]] = frozenset({"effective_time"})

    retention_duration_seconds: int = field(metadata=INT64)


@dataclass(frozen=True, kw_only=True)
class EncryptionEnforcement:
    """Whether new objects may be encrypted in one way: `NotRestricted` or `FullyRestricted`."""

    SERVER_OWNED: ClassVar[frozenset[str]] = frozenset({"effective_time"})

    restriction_mode: Literal["NotRestricted", "FullyRestricted"]


@dataclass(frozen=True, kw_only=True)
class BucketEncryption:
    """`default_kms_key_name` is the key of objects that are written without one of their own."""

    default_kms_key_name: str | None = None
    google_managed_encryption_enforcement_config: EncryptionEnforcement | None = None
    customer_managed_encryption_enforcement_config: EncryptionEnforcement | None = None
    customer_supplied_encryption_enforcement_config: EncryptionEnforcement | None = None


@dataclass(frozen=True, kw_only=True)
class BucketLogging:
    """The bucket that usage logs go to; the service's default prefix is the name of the logged bucket."""

    log_bucket: str
    log_object_prefix: str | None = None


@dataclass(frozen=True, kw_only=True)
class Website:
    """The objects that stand for a folder, and for one that does not exist."""

    main_page_suffix: str | None = None
    not_found_page: str | None = None


@dataclass(frozen=True, kw_only=True)
class CustomPlacementConfig:
    """The two regions of a dual region of one's own choice."""

    data_locations: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class PublicNetworkSource:
    """The addresses of the internet that may reach the bucket."""

    allowed_ip_cidr_ranges: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class VpcNetworkSource:
    """A network, and the addresses in it, that may reach the bucket."""

    network: str
    allowed_ip_cidr_ranges: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class IpFilter:
    """From where the bucket can be reached at all."""

    mode: Literal["Enabled", "Disabled"]
    public_network_source: PublicNetworkSource | None = None
    vpc_network_sources: tuple[VpcNetworkSource, ...] = ()
    allow_cross_org_vpcs: bool | None = None
    allow_all_service_agent_access: bool | None = None
