"""Emptying a bucket against a scripted service: what is held, what is retained, what nobody finished."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from pulumi_vertex_training.cloud import errors
from pulumi_vertex_training.cloud.endpoint import Endpoint
from pulumi_vertex_training.kinds.staging_bucket import emptying
from pulumi_vertex_training.kinds.staging_bucket import gateway as buckets
from support.scripted_service import Answer, Asked, Service, refusal

UPLOADS = """<?xml version='1.0' encoding='UTF-8'?>
<ListMultipartUploadsResult><Bucket>b</Bucket><IsTruncated>{more}</IsTruncated>
<NextKeyMarker>a&amp;b</NextKeyMarker><NextUploadIdMarker>u1</NextUploadIdMarker>
<Upload><Key>{key}</Key><UploadId>{id}</UploadId></Upload></ListMultipartUploadsResult>"""


def bucket_of(service: Service, *items: Mapping[str, Any], page: int = 1000) -> None:
    """Add a bucket with these objects, in pages; their generations count from 1."""
    numbered = [{"generation": str(i), **item} for i, item in enumerate(items, start=1)]
    left = {str(one["generation"]): dict(one) for one in numbered}

    def answer(asked: Asked) -> Answer:
        if "/o" not in asked.path:
            return Answer(document={})
        generation = asked.query.get("generation", [""])[0]
        if asked.method == "PATCH":
            left[generation] |= {"temporaryHold": False, "eventBasedHold": False}
            return Answer(document=left[generation])
        if asked.method == "DELETE":
            one = left[generation]
            if one.get("temporaryHold") or one.get("eventBasedHold"):
                return refusal(403, "PERMISSION_DENIED", "Object is under active hold")
            if one.get("retentionExpirationTime") or one.get("retention"):
                return refusal(403, "PERMISSION_DENIED", "Object is subject to the bucket's retention policy")
            del left[generation]
            return Answer(status=204)
        if generation:
            return Answer(document=left[generation])
        start = int(asked.query.get("pageToken", ["0"])[0])
        some = numbered[start : start + page]
        token = {"nextPageToken": str(start + page)} if start + page < len(numbered) else {}
        return Answer(
            document={"items": [left[i["generation"]] for i in some if i["generation"] in left], **token}
        )

    service.script(answer)


def deletions(service: Service) -> int:
    return sum(asked.method == "DELETE" and "/o/" in asked.path for asked in service.asked)


def test_nothing_is_deleted_where_an_object_is_held(service: Service, endpoint: Endpoint) -> None:
    bucket_of(service, {"name": "free"}, {"name": "kept", "temporaryHold": True})
    with pytest.raises(emptying.HeldError):
        emptying.empty(endpoint, "b")
    assert deletions(service) == 0


def test_where_an_object_is_held_no_upload_is_aborted(service: Service, endpoint: Endpoint) -> None:
    bucket_of(service, {"name": "kept", "temporaryHold": True})
    with pytest.raises(emptying.HeldError):
        emptying.empty(endpoint, "b")
    assert not [asked for asked in service.asked if "uploads" in asked.query or asked.method == "DELETE"]


def test_a_hold_on_the_last_page_is_found_before_the_first_is_deleted(
    service: Service, endpoint: Endpoint
) -> None:
    bucket_of(service, *[{"name": f"o{i}"} for i in range(4)], {"name": "z", "eventBasedHold": True}, page=2)
    with pytest.raises(emptying.HeldError):
        emptying.empty(endpoint, "b")
    assert deletions(service) == 0


@pytest.mark.parametrize(
    ("held", "words"),
    [
        ({"temporaryHold": True}, "x (temporary hold)"),
        ({"eventBasedHold": True}, "x (event-based hold)"),
        ({"temporaryHold": True, "eventBasedHold": True}, "x (temporary hold and event-based hold)"),
    ],
)
def test_what_is_held_is_named_with_its_hold(
    service: Service, endpoint: Endpoint, held: dict[str, Any], words: str
) -> None:
    bucket_of(service, {"name": "x", **held})
    with pytest.raises(emptying.HeldError) as refused:
        emptying.empty(endpoint, "b")
    assert str(refused.value) == f"1 object in bucket b is on hold, so nothing was deleted: {words}."


def test_many_that_are_held_are_counted(service: Service, endpoint: Endpoint) -> None:
    bucket_of(service, *[{"name": f"o{i}", "temporaryHold": True} for i in range(8)])
    with pytest.raises(emptying.HeldError, match=r"8 objects in bucket b are on hold.* and 3 more\."):
        emptying.empty(endpoint, "b")


def test_holds_are_taken_off_on_request(service: Service, endpoint: Endpoint) -> None:
    bucket_of(service, {"name": "free"}, {"name": "kept", "temporaryHold": True})
    assert emptying.empty(endpoint, "b", release_holds=True) == 2


@pytest.mark.parametrize(
    "retained",
    [
        {"retentionExpirationTime": "2031-01-01T00:00:00Z"},
        {"retention": {"mode": "Locked", "retainUntilTime": "2031-01-01T00:00:00Z"}},
    ],
)
def test_what_is_retained_says_until_when(
    service: Service, endpoint: Endpoint, retained: dict[str, Any]
) -> None:
    bucket_of(service, {"name": "free"}, {"name": "x", **retained})
    with pytest.raises(emptying.RetainedError) as refused:
        emptying.empty(endpoint, "b")
    assert str(refused.value) == (
        "1 object in bucket b cannot be deleted yet, because it is retained: x until 2031-01-01T00:00:00Z. "
        "1 object was deleted."
    )


def test_where_much_is_retained_the_rest_is_not_tried(service: Service, endpoint: Endpoint) -> None:
    young = {"retentionExpirationTime": "2031-01-01T00:00:00Z"}
    bucket_of(service, *[{"name": f"o{i}", **young} for i in range(300)], page=100)
    with pytest.raises(emptying.RetainedError, match="at least 100 objects"):
        emptying.empty(endpoint, "b")
    assert deletions(service) == 100


def test_progress_is_reported_every_few_seconds_and_at_the_end(service: Service, endpoint: Endpoint) -> None:
    bucket_of(service, *[{"name": f"o{i}"} for i in range(10)])
    seconds = iter(range(1000))
    reported: list[int] = []
    emptying.empty(endpoint, "b", tell=reported.append, clock=lambda: float(next(seconds)))
    assert (reported[-1], len(reported) > 1) == (10, True)


def test_a_small_bucket_is_listed_once(service: Service, endpoint: Endpoint) -> None:
    bucket_of(service, {"name": "a"}, {"name": "b"})
    emptying.empty(endpoint, "b")
    assert sum(asked.path.endswith("/o") for asked in service.asked) == 1


def test_unfinished_uploads_of_every_page_are_aborted(service: Service, endpoint: Endpoint) -> None:
    def answer(asked: Asked) -> Answer:
        if asked.path != "/b":
            return Answer(document={})
        first = "key-marker" not in asked.query
        text = UPLOADS.format(more="true" if first else "false", key="a&amp;b" if first else "c", id="u1")
        return Answer(text=text, content_type="application/xml")

    service.script(answer)
    buckets.delete(endpoint, "b", force=True)
    aborted = [asked for asked in service.asked if asked.method == "DELETE" and "uploadId" in asked.query]
    assert sorted(asked.path for asked in aborted) == ["/b/a%26b", "/b/c"]


def test_a_service_without_multipart_uploads_is_emptied_all_the_same(
    service: Service, endpoint: Endpoint
) -> None:
    def answer(asked: Asked) -> Answer:
        return refusal(404, "NOT_FOUND", "no") if asked.path == "/b" else Answer(document={})

    service.script(answer)
    buckets.delete(endpoint, "b", force=True)
    assert service.asked[-1].method == "DELETE"


def test_folders_that_keep_a_bucket_are_removed_from_the_inside_out(
    service: Service, endpoint: Endpoint
) -> None:
    left = ["a/", "a/b/"]

    def answer(asked: Asked) -> Answer:
        if asked.path.endswith("/folders"):
            return Answer(document={"items": [{"name": name} for name in left]})
        if "/folders/" in asked.path:
            left.pop()
        if asked.path == "/storage/v1/b/b" and left:
            return refusal(409, "ALREADY_EXISTS", "not empty")
        return Answer(document={})

    service.script(answer)
    buckets.delete(endpoint, "b", force=True)
    removed = [asked.path for asked in service.asked if "/folders/" in asked.path]
    assert removed == ["/storage/v1/b/b/folders/a%2Fb%2F", "/storage/v1/b/b/folders/a%2F"]


def test_a_bucket_that_is_gone_is_not_found(service: Service, endpoint: Endpoint) -> None:
    service.script(refusal(404, "NOT_FOUND", "The specified bucket does not exist."))
    with pytest.raises(errors.NotFound):
        buckets.delete(endpoint, "b", force=True)


def test_a_retention_policy_is_locked_at_the_state_that_was_seen(
    service: Service, endpoint: Endpoint
) -> None:
    service.script(Answer(document={"name": "b", "metageneration": "4"}))
    assert buckets.lock_retention_policy(endpoint, "b", if_metageneration_match=3).metageneration == 4
    (asked,) = service.asked
    assert (asked.method, asked.path) == ("POST", "/storage/v1/b/b/lockRetentionPolicy")
    assert asked.query == {"ifMetagenerationMatch": ["3"]}


def test_retention_of_single_objects_is_asked_for_at_the_creation(
    service: Service, endpoint: Endpoint
) -> None:
    service.script(Answer(document={"name": "b"}))
    buckets.create(endpoint, {"name": "b"}, enable_object_retention=True)
    assert service.asked[0].query["enableObjectRetention"] == ["true"]
