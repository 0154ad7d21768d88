"""The XML API over the wire: objects, listings, multipart uploads, resumable uploads, errors."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit
from xml.etree import ElementTree

import google_crc32c
import pytest

from support.emulated.emulator import Answer, call, running, storage_client
from vertex_emulator.daemon.daemon import Daemon
from vertex_emulator.services.storage.xml import documents

MEBI = 1024 * 1024


def xml(answer: Answer) -> ElementTree.Element:
    root = ElementTree.fromstring(answer.body)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
    return root


def code(answer: Answer) -> str:
    return str(xml(answer).findtext("Code"))


@pytest.fixture
def ask(emulator: Daemon, bucket: Any) -> Any:
    """Asks about an object of `bucket` by the address with the storage secret."""

    def asked(method: str, name: str = "", **options: Any) -> Answer:
        return call(emulator.storage_url, method, f"/{bucket.name}/{name}", **options)

    return asked


def begin(ask: Any, name: str = "o", **headers: str) -> str:
    return str(xml(ask("POST", f"{name}?uploads", headers=headers)).findtext("UploadId"))


def part(ask: Any, upload: str, number: int, content: bytes, name: str = "o") -> str:
    answer = ask("PUT", f"{name}?partNumber={number}&uploadId={upload}", body=content)
    assert answer.status == 200, answer.body
    return str(answer.headers["ETag"])


def complete(ask: Any, upload: str, parts: list[tuple[int, str]], name: str = "o", **headers: str) -> Answer:
    entries = "".join(f"<Part><PartNumber>{n}</PartNumber><ETag>{etag}</ETag></Part>" for n, etag in parts)
    body = f"<CompleteMultipartUpload>{entries}</CompleteMultipartUpload>".encode()
    answer = ask("POST", f"{name}?uploadId={upload}", body=body, headers=headers)
    assert isinstance(answer, Answer)
    return answer


class TestAddresses:
    def test_with_the_token_and_no_prefix(self, emulator: Daemon, bucket: Any) -> None:
        bucket.blob("a/b").upload_from_string("content")
        answer = call(emulator.url, "GET", f"/{bucket.name}/a/b", token=emulator.token)
        assert answer.body == b"content"

    def test_without_token_and_prefix(self, emulator: Daemon, bucket: Any) -> None:
        assert call(emulator.url, "GET", f"/{bucket.name}/a").status == 401

    @pytest.mark.parametrize("name", ["upload", "batch", "v1beta1"])
    def test_a_bucket_called_like_a_service_is_there_with_the_prefix(
        self, emulator: Daemon, storage: Any, name: str
    ) -> None:
        storage.create_bucket(name).blob("o").upload_from_string("content")
        assert call(emulator.storage_url, "GET", f"/{name}/o").body == b"content"
        assert call(emulator.url, "GET", f"/{name}/o", token=emulator.token).status in (400, 404)

    def test_the_prefix_opens_no_other_service_as_a_bucket(self, emulator: Daemon) -> None:
        path = "/v1alpha1/projects/local/locations/us-central1/customJobs"
        assert code(call(emulator.storage_url, "GET", path)) == "NoSuchBucket"


class TestObjects:
    def test_put_with_headers(self, ask: Any, bucket: Any) -> None:
        headers = {
            "Content-Type": "text/x",
            "Cache-Control": "no-store",
            "x-goog-meta-step": "3",
            "x-goog-storage-class": "nearline",
        }
        assert ask("PUT", "o", body=b"content", headers=headers).status == 200
        found = bucket.get_blob("o")
        assert (found.content_type, found.cache_control, found.metadata, found.storage_class) == (
            "text/x",
            "no-store",
            {"step": "3"},
            "NEARLINE",
        )

    def test_get(self, ask: Any, bucket: Any) -> None:
        blob = bucket.blob("a b/é")
        blob.metadata = {"step": "3"}
        blob.upload_from_string("content", content_type="text/x")
        answer = ask("GET", quote("a b/é"))
        assert (answer.body, answer.headers["Content-Type"], answer.headers["x-goog-meta-step"]) == (
            b"content",
            "text/x",
            "3",
        )

    def test_the_etag_is_the_md5(self, ask: Any, bucket: Any) -> None:
        bucket.blob("o").upload_from_string("content")
        assert ask("GET", "o").headers["ETag"] == f'"{hashlib.md5(b"content").hexdigest()}"'

    def test_a_range(self, ask: Any, bucket: Any) -> None:
        bucket.blob("o").upload_from_string("0123456789")
        answer = ask("GET", "o", headers={"Range": "bytes=2-4"})
        assert (answer.status, answer.body) == (206, b"234")

    def test_head(self, ask: Any, bucket: Any) -> None:
        bucket.blob("o").upload_from_string("content")
        answer = ask("HEAD", "o")
        assert (answer.status, answer.body, answer.headers["Content-Length"]) == (200, b"", "7")

    def test_delete(self, ask: Any, bucket: Any) -> None:
        bucket.blob("o").upload_from_string("content")
        assert ask("DELETE", "o").status == 204
        assert not bucket.blob("o").exists()

    def test_an_object_that_is_not_there(self, ask: Any) -> None:
        answer = ask("GET", "nothing")
        assert (answer.status, code(answer)) == (404, "NoSuchKey")

    def test_a_bucket_that_is_not_there(self, emulator: Daemon) -> None:
        answer = call(emulator.storage_url, "GET", "/no-such-bucket/o")
        assert (answer.status, code(answer)) == (404, "NoSuchBucket")

    def test_a_precondition(self, ask: Any, bucket: Any) -> None:
        bucket.blob("o").upload_from_string("old")
        answer = ask("PUT", "o", body=b"new", headers={"x-goog-if-generation-match": "0"})
        assert (answer.status, code(answer)) == (412, "PreconditionFailed")
        assert bucket.blob("o").download_as_bytes() == b"old"

    def test_a_wrong_checksum(self, ask: Any, bucket: Any) -> None:
        md5 = base64.b64encode(hashlib.md5(b"other").digest()).decode()
        answer = ask("PUT", "o", body=b"content", headers={"Content-MD5": md5})
        assert (answer.status, code(answer)) == (400, "BadDigest")
        assert not bucket.blob("o").exists()

    def test_what_is_not_there_is_refused_by_name(self, ask: Any) -> None:
        answer = ask("POST", "o?uploads", headers={"x-goog-copy-source": "/b/o"})
        assert (answer.status, code(answer)) == (400, "NotImplemented")
        assert "x-goog-copy-source" in str(xml(answer).findtext("Message"))

    def test_a_copy(self, ask: Any, bucket: Any) -> None:
        source = bucket.blob("a/b c")
        source.metadata = {"kept": "yes"}
        source.upload_from_string("content", content_type="text/css")
        place = f"{quote(bucket.name).replace('-', '%2D')}/a%2Fb%20c"
        headers = {"x-goog-copy-source": place, "x-goog-if-generation-match": "0"}
        answer = ask("PUT", "copy", headers=headers)
        assert (answer.status, xml(answer).tag) == (200, "CopyObjectResult")
        copy = bucket.get_blob("copy")
        assert xml(answer).findtext("ETag") == answer.headers["ETag"]
        assert (copy.download_as_bytes(), copy.content_type, copy.metadata) == (
            b"content",
            "text/css",
            {"kept": "yes"},
        )
        assert (ask("PUT", "copy", headers=headers).status) == 412
        replaced = {"x-goog-copy-source": place, "x-goog-metadata-directive": "REPLACE"}
        assert ask("PUT", "other", headers={**replaced, "Content-Type": "text/html"}).status == 200
        other = bucket.get_blob("other")
        assert (other.content_type, other.metadata or {}) == ("text/html", {})
        stale = {"x-goog-copy-source": place, "x-goog-copy-source-if-generation-match": "1"}
        assert ask("PUT", "never", headers=stale).status == 412
        unknown = {"x-goog-copy-source": place, "x-goog-copy-source-if-match": "x"}
        assert code(ask("PUT", "never", headers=unknown)) == "NotImplemented"
        for text in ("nothing", "/", ""):
            assert code(ask("PUT", "never", headers={"x-goog-copy-source": text})) == "InvalidArgument"
        assert ask("PUT", "never", headers={"x-goog-copy-source": f"{bucket.name}/none"}).status == 404

    def test_an_encoded_bucket(self, emulator: Daemon, bucket: Any) -> None:
        path = "".join(f"%{byte:02X}" for byte in bucket.name.encode())
        call(emulator.url, "PUT", f"/{path}/o", body=b"content", token=emulator.token).ok()
        assert call(emulator.storage_url, "GET", f"/{path}/o").body == b"content"
        listed = xml(call(emulator.url, "GET", f"/{path}?list-type=2", token=emulator.token))
        assert listed.findtext("Name") == bucket.name
        # The path of a service or of the controls stays closed, however it is written.
        assert call(emulator.storage_url, "GET", "/%5Flocal/info").status == 403
        assert call(emulator.url, "GET", "/%5Flocal/info").status == 401

    def test_a_multipart_upload_with_a_key(self, ask: Any, bucket: Any) -> None:
        key = "projects/p/locations/us/keyRings/r/cryptoKeys/k"
        upload = begin(ask, **{"x-goog-encryption-kms-key-name": key})
        assert complete(ask, upload, [(1, part(ask, upload, 1, b"content"))]).status == 200
        assert str(bucket.get_blob("o").kms_key_name).startswith(key)

    @pytest.mark.parametrize("parameter", ["acl", "tagging", "cors"])
    def test_subresources_are_not_taken_for_the_object(self, ask: Any, bucket: Any, parameter: str) -> None:
        bucket.blob("o").upload_from_string("content")
        assert ask("GET", f"o?{parameter}").status == 400
        assert ask("DELETE", f"o?{parameter}").status == 400
        assert bucket.blob("o").exists()

    def test_a_bucket_with_head(self, ask: Any, emulator: Daemon) -> None:
        assert ask("HEAD").status == 200
        assert call(emulator.storage_url, "HEAD", "/no-such-bucket").status == 404

    def test_a_buckets_location(self, ask: Any) -> None:
        assert xml(ask("GET", "?location")).findtext("Location") == "US-CENTRAL1"


class TestListing:
    @pytest.fixture
    def names(self, bucket: Any) -> list[str]:
        names = ["a/1", "a/2", "b", "c & <d>", "é"]
        for name in names:
            bucket.blob(name).upload_from_string("x")
        return names

    def test_version_one(self, ask: Any, names: list[str]) -> None:
        assert [key.text for key in xml(ask("GET")).iter("Key")] == names

    def test_version_two_counts(self, ask: Any, names: list[str]) -> None:
        assert xml(ask("GET", "?list-type=2")).findtext("KeyCount") == "5"

    def test_a_delimiter(self, ask: Any, names: list[str]) -> None:
        found = xml(ask("GET", "?delimiter=/"))
        assert [item.findtext("Prefix") for item in found.iter("CommonPrefixes")] == ["a/"]

    def test_encoding(self, ask: Any, names: list[str]) -> None:
        found = xml(ask("GET", "?encoding-type=url&prefix=c"))
        assert found.findtext("Contents/Key") == "c%20%26%20%3Cd%3E"

    @pytest.mark.parametrize("delimiter", ["", "/"])
    @pytest.mark.parametrize("size", [1, 2, 3])
    def test_pages_of_version_one(self, ask: Any, names: list[str], delimiter: str, size: int) -> None:
        found, marker = [], ""
        while True:
            page = xml(ask("GET", f"?max-keys={size}&delimiter={delimiter}&marker={quote(marker)}"))
            found += [item.text for item in page.iter("Key")]
            found += [str(item.findtext("Prefix")) for item in page.iter("CommonPrefixes")]
            if page.findtext("IsTruncated") == "false":
                break
            marker = str(page.findtext("NextMarker"))
        assert sorted(map(str, found)) == (["a/", *names[2:]] if delimiter else names)

    @pytest.mark.parametrize("delimiter", ["", "/"])
    @pytest.mark.parametrize("size", [1, 2, 3])
    def test_pages_of_version_two(self, ask: Any, names: list[str], delimiter: str, size: int) -> None:
        found, token = [], ""
        while True:
            path = f"?list-type=2&max-keys={size}&delimiter={delimiter}&continuation-token={token}"
            page = xml(ask("GET", path))
            found += [item.text for item in page.iter("Key")]
            found += [str(item.findtext("Prefix")) for item in page.iter("CommonPrefixes")]
            if page.findtext("IsTruncated") == "false":
                break
            token = str(page.findtext("NextContinuationToken"))
        assert sorted(map(str, found)) == (["a/", *names[2:]] if delimiter else names)

    def test_start_after(self, ask: Any, names: list[str]) -> None:
        assert [k.text for k in xml(ask("GET", "?list-type=2&start-after=b")).iter("Key")] == names[3:]

    @pytest.mark.parametrize("query", ["max-keys=x", "list-type=3", "list-type=2&continuation-token=!"])
    def test_bad_parameters(self, ask: Any, query: str) -> None:
        answer = ask("GET", f"?{query}")
        assert (answer.status, code(answer)) == (400, "InvalidArgument")


class TestMultipartUploads:
    def test_parts_out_of_order(self, ask: Any, bucket: Any) -> None:
        upload = begin(ask, **{"Content-Type": "text/x", "x-goog-meta-a": "b"})
        last = part(ask, upload, 7, b"end")
        first = part(ask, upload, 2, b"x" * 5 * MEBI)
        assert complete(ask, upload, [(2, first), (7, last)]).status == 200
        found = bucket.get_blob("o")
        assert (found.content_type, found.metadata, found.md5_hash) == ("text/x", {"a": "b"}, None)
        content = b"x" * 5 * MEBI + b"end"
        assert found.download_as_bytes() == content
        crc = base64.b64encode(google_crc32c.Checksum(content).digest()).decode()
        assert found.crc32c == crc

    def test_a_part_sent_again_replaces_the_first(self, ask: Any, bucket: Any) -> None:
        upload = begin(ask)
        part(ask, upload, 1, b"old")
        new = part(ask, upload, 1, b"new")
        complete(ask, upload, [(1, new)])
        assert bucket.blob("o").download_as_bytes() == b"new"

    def test_the_etag_of_a_replaced_part_is_refused(self, ask: Any) -> None:
        upload = begin(ask)
        old = part(ask, upload, 1, b"old")
        part(ask, upload, 1, b"new")
        answer = complete(ask, upload, [(1, old)])
        assert (answer.status, code(answer)) == (400, "InvalidPart")

    def test_a_part_that_was_not_sent(self, ask: Any) -> None:
        upload = begin(ask)
        etag = part(ask, upload, 1, b"x")
        assert code(complete(ask, upload, [(1, etag), (2, etag)])) == "InvalidPart"

    def test_parts_left_out_are_left_out(self, ask: Any, bucket: Any) -> None:
        upload = begin(ask)
        part(ask, upload, 1, b"not wanted")
        etag = part(ask, upload, 2, b"wanted")
        complete(ask, upload, [(2, etag)])
        assert bucket.blob("o").download_as_bytes() == b"wanted"

    def test_the_list_has_to_ascend(self, ask: Any) -> None:
        upload = begin(ask)
        etags = [part(ask, upload, number, b"x") for number in (1, 2)]
        answer = complete(ask, upload, [(2, etags[1]), (1, etags[0])])
        assert (answer.status, code(answer)) == (400, "InvalidPartOrder")

    def test_all_parts_but_the_last_are_large(self, ask: Any) -> None:
        upload = begin(ask)
        etags = [part(ask, upload, number, b"x") for number in (1, 2)]
        answer = complete(ask, upload, [(1, etags[0]), (2, etags[1])])
        assert (answer.status, code(answer)) == (400, "EntityTooSmall")

    @pytest.mark.parametrize(("number", "status"), [(0, 400), (1, 200), (10_000, 200), (10_001, 400)])
    def test_numbers_of_parts(self, ask: Any, number: int, status: int) -> None:
        upload = begin(ask)
        answer = ask("PUT", f"o?partNumber={number}&uploadId={upload}", body=b"x")
        assert answer.status == status

    def test_a_damaged_part(self, ask: Any) -> None:
        upload = begin(ask)
        answer = ask(
            "PUT",
            f"o?partNumber=1&uploadId={upload}",
            body=b"x",
            headers={"x-goog-hash": "crc32c=AAAAAA=="},
        )
        assert (answer.status, code(answer)) == (400, "BadDigest")

    def test_listing_parts_in_pages(self, ask: Any) -> None:
        upload = begin(ask)
        for number in (3, 1, 2):
            part(ask, upload, number, b"x" * number)
        page = xml(ask("GET", f"o?uploadId={upload}&max-parts=2"))
        assert [item.text for item in page.iter("PartNumber")] == ["1", "2"]
        assert page.findtext("NextPartNumberMarker") == "2"
        page = xml(ask("GET", f"o?uploadId={upload}&part-number-marker=2"))
        assert [item.text for item in page.iter("Size")] == ["3"]

    def test_listing_uploads_in_pages(self, ask: Any) -> None:
        ids = sorted(begin(ask, "b") for _ in range(2))
        first = begin(ask, "a")
        page = xml(ask("GET", "?uploads&max-uploads=2"))
        assert [item.findtext("UploadId") for item in page.iter("Upload")] == [first, ids[0]]
        path = f"?uploads&key-marker=b&upload-id-marker={page.findtext('NextUploadIdMarker')}"
        assert [item.findtext("UploadId") for item in xml(ask("GET", path)).iter("Upload")] == [ids[1]]

    def test_abort(self, ask: Any, emulator: Daemon, bucket: Any) -> None:
        upload = begin(ask)
        etag = part(ask, upload, 1, b"x")
        before = len(list(emulator.folder.parts.iterdir()))
        assert ask("DELETE", f"o?uploadId={upload}").status == 204
        assert len(list(emulator.folder.parts.iterdir())) == before - 1
        answer = complete(ask, upload, [(1, etag)])
        assert (answer.status, code(answer)) == (404, "NoSuchUpload")

    def test_completing_twice_is_answered_alike(self, ask: Any, bucket: Any) -> None:
        upload = begin(ask)
        etag = part(ask, upload, 1, b"x")
        first, again = (complete(ask, upload, [(1, etag)]) for _ in range(2))
        assert (again.status, again.body) == (200, first.body)

    def test_a_failed_precondition_leaves_the_upload(self, ask: Any, bucket: Any) -> None:
        bucket.blob("o").upload_from_string("old")
        upload = begin(ask)
        etag = part(ask, upload, 1, b"new")
        assert complete(ask, upload, [(1, etag)], **{"x-goog-if-generation-match": "0"}).status == 412
        assert complete(ask, upload, [(1, etag)]).status == 200

    def test_an_upload_belongs_to_its_name(self, ask: Any) -> None:
        upload = begin(ask)
        assert code(ask("PUT", f"other?partNumber=1&uploadId={upload}", body=b"x")) == "NoSuchUpload"

    def test_an_upload_goes_with_its_bucket(self, ask: Any, storage: Any, bucket: Any) -> None:
        upload = begin(ask)
        bucket.delete()
        storage.create_bucket(bucket.name, location="us-central1")
        assert code(ask("PUT", f"o?partNumber=1&uploadId={upload}", body=b"x")) == "NoSuchUpload"

    @pytest.mark.parametrize(
        "body",
        [
            pytest.param(b"", id="nothing"),
            pytest.param(b"<Complete", id="not well-formed"),
            pytest.param(b"<Other/>", id="another document"),
            pytest.param(b"<CompleteMultipartUpload/>", id="no part"),
            pytest.param(
                b"<CompleteMultipartUpload><Part><PartNumber>x</PartNumber><ETag>e</ETag></Part>"
                b"</CompleteMultipartUpload>",
                id="no number",
            ),
            pytest.param(
                b'<!DOCTYPE x [<!ENTITY a "b">]><CompleteMultipartUpload>&a;</CompleteMultipartUpload>',
                id="an entity",
            ),
        ],
    )
    def test_documents_that_are_none(self, ask: Any, body: bytes) -> None:
        upload = begin(ask)
        answer = ask("POST", f"o?uploadId={upload}", body=body)
        assert (answer.status, code(answer)) == (400, "MalformedXML")

    def test_an_upload_survives_a_restart(self, tmp_path: Path) -> None:
        with running(tmp_path / "data") as first, storage_client(first.storage_url) as client:
            client.create_bucket("kept")
            base = first.storage_url
            upload = xml(call(base, "POST", "/kept/o?uploads")).findtext("UploadId")
            etag = call(base, "PUT", f"/kept/o?partNumber=1&uploadId={upload}", body=b"kept").headers["ETag"]
            (first.folder.parts / ("0" * 32)).write_bytes(b"left by a kill")
        with running(tmp_path / "data") as second, storage_client(second.storage_url) as client:
            body = (
                f"<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>{etag}</ETag></Part>"
                "</CompleteMultipartUpload>"
            )
            call(second.storage_url, "POST", f"/kept/o?uploadId={upload}", body=body.encode())
            assert client.bucket("kept").blob("o").download_as_bytes() == b"kept"
            assert list(second.folder.parts.iterdir()) == []


class TestResumableUploads:
    def test_in_pieces(self, ask: Any, bucket: Any) -> None:
        begun = ask("POST", "o", headers={"x-goog-resumable": "start", "Content-Type": "text/x"})
        assert begun.status == 201
        path, piece = f"o?{urlsplit(begun.headers['Location']).query}", b"x" * 256 * 1024
        answer = ask("PUT", path, body=piece, headers={"Content-Range": f"bytes 0-{len(piece) - 1}/*"})
        assert (answer.status, answer.headers["Range"]) == (308, f"bytes=0-{len(piece) - 1}")
        total = len(piece) + 3
        span = f"bytes {len(piece)}-{total - 1}/{total}"
        answer = ask("PUT", path, body=b"end", headers={"Content-Range": span})
        assert (answer.status, bucket.get_blob("o").content_type) == (200, "text/x")

    def test_post_needs_to_say_what_it_is(self, ask: Any) -> None:
        assert code(ask("POST", "o", body=b"x")) == "InvalidArgument"


def test_lifecycle_rules_can_abort_uploads(emulator: Daemon, ask: Any, bucket: Any) -> None:
    upload = begin(ask)
    parts = emulator.storage.multipart_uploads
    assert [(found[0], found[1]) for found in parts.unfinished(bucket.name)] == [(upload, "o")]
    parts.abort(upload)
    assert parts.unfinished(bucket.name) == []


class TestDocuments:
    @pytest.mark.parametrize(
        "data",
        [
            pytest.param(b'<!DOCTYPE a [<!ENTITY x "' + b"y" * 99 + b'">]><a>&x;</a>', id="entity"),
            pytest.param(b'<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>', id="external"),
            pytest.param(b"<a>" * 50 + b"</a>" * 50, id="deep"),
            pytest.param(b"<a>" + b"<b/>" * 60_000 + b"</a>", id="many"),
            pytest.param(b"<a>&undefined;</a>", id="unknown entity"),
            pytest.param(b'<?xml version="1.0" encoding="nonsense"?><a/>', id="encoding"),
            pytest.param(b"\xff\xfe\x00", id="bytes"),
        ],
    )
    def test_refused(self, data: bytes) -> None:
        with pytest.raises(documents.MalformedError):
            documents.parsed(data)

    def test_what_is_written_is_read_again(self) -> None:
        text = "a & b < c > d \"e\" 'f' é \U0001f600"
        document = documents.element("root", documents.text("t", text), namespace="urn:x")
        assert documents.parsed(documents.written(document)).children[0].content == text


def test_conditions_on_the_time_of_an_object(ask: Any) -> None:
    assert ask("PUT", "o", body=b"content").status == 200
    modified = ask("GET", "o").headers["Last-Modified"]
    early, late = "Mon, 01 Jan 2024 00:00:00 GMT", "Fri, 01 Jan 2100 00:00:00 GMT"

    def statuses(**headers: str) -> list[int]:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        return [ask(method, "o", headers=sent).status for method in ("GET", "HEAD")]

    assert statuses(if_unmodified_since=early) == [412, 412]
    assert statuses(if_unmodified_since=modified) == statuses(if_unmodified_since=late) == [200, 200]
    assert statuses(if_modified_since=modified) == statuses(if_modified_since=late) == [304, 304]
    assert statuses(if_modified_since=early) == statuses(if_modified_since="yesterday") == [200, 200]
    # A condition on the etag replaces one on the time.
    assert statuses(if_unmodified_since=early, if_match="*") == [200, 200]
    assert statuses(if_modified_since=late, if_none_match="x") == [200, 200]
