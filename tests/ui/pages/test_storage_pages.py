"""Buckets, objects and images in the dashboard; names and contents of others are text."""

from __future__ import annotations

import re
from urllib.parse import urlencode

import pytest

from pulumi_vertex_training.ui.server.downloads import file_name
from pulumi_vertex_training.ui.source.storage import preview
from support.client.ui import everything
from support.client.ui.everything import HOSTILE
from support.emulated.emulator import Answer
from support.emulated.ui.dashboard import Dashboard
from support.emulated.ui.scene import Scene
from support.tables import every_row
from vertex_emulator.client.launcher import Emulator

BUCKET = "train-dev-data"


@pytest.fixture(scope="module")
def image(emulator: Emulator) -> str:
    """Fill a bucket and a repository. Return the address of the image."""
    scene = Scene(emulator)
    everything.make_objects(scene, many=130)
    everything.upload(scene, BUCKET, "deep.json", b"[" * 5000 + b"]" * 5000, "application/json")
    everything.upload(scene, BUCKET, "long.txt", b"line\n" * 200_000, "text/plain")
    everything.upload(scene, BUCKET, "a/../../b", b"text")
    return everything.make_image(scene)


def address(path: str, **query: str) -> str:
    return f"/storage/{path}?{urlencode({'bucket': BUCKET, **query})}"


def content_of(html: str) -> str:
    found = re.search(r'<pre class="content"[^>]*>(.*?)</pre>', html, re.DOTALL)
    return found[1] if found else ""


def test_buckets_are_listed_with_what_declares_them(dashboard: Dashboard, image: str) -> None:
    html = dashboard.text("/storage")
    assert f'href="/storage/folder?bucket={BUCKET}"' in html and "data <small>train/dev</small>" in html


def test_a_folder_shows_its_objects_and_the_folders_in_it(dashboard: Dashboard, image: str) -> None:
    html = dashboard.text(address("folder"))
    assert ">digits/</a>" in html and ">weights.bin</a>" in html and "labels.csv" not in html
    inner = dashboard.text(address("folder", prefix="digits/"))
    assert ">labels.csv</a>" in inner and "text/csv" in inner and ">model/</a>" in inner


def test_a_long_folder_has_pages_of_100(dashboard: Dashboard, image: str, emulator: Emulator) -> None:
    scene = Scene(emulator)
    before = scene.requests()[-1]["number"]
    first = dashboard.text(address("folder", prefix="many/"))
    lists = [one for one in scene.requests(after=before) if f"/b/{BUCKET}/o?" in one["target"]]
    assert len(lists) == 1 and "maxResults=100" in lists[0]["target"]
    assert first.count(">part-") == 100
    more = re.search(r'href="([^"]*)" rel="next"', first)
    assert more is not None
    second = dashboard.text(more[1].replace("&amp;", "&"))
    assert second.count(">part-") == 30 and 'rel="next"' not in second


def test_json_is_indented_and_its_numbers_stay(dashboard: Dashboard, image: str) -> None:
    text = content_of(dashboard.text(address("object", name="digits/model/metrics.json")))
    assert "  &#34;big&#34;: 123456789012345678901234567890,\n" in text and "0.90,\n" in text
    deep = dashboard.text(address("object", name="deep.json"))
    assert "nested too deeply" in deep


def test_a_raster_picture_is_shown_whatever_type_it_claims(dashboard: Dashboard, image: str) -> None:
    html = dashboard.text(address("object", name="digits/picture.png"))
    source = re.search(r'<img class="picture" src="([^"]*)"', html)
    assert source is not None
    answer = dashboard.ask(source[1].replace("&amp;", "&"))
    assert answer.headers["content-type"] == "image/png"
    assert answer.body == everything.picture()
    assert_no_document(answer)


def test_svg_and_html_are_text(dashboard: Dashboard, image: str) -> None:
    svg = dashboard.text(address("object", name="digits/picture.svg"))
    assert "&lt;script&gt;alert(3)" in content_of(svg) and "<img" not in svg
    assert dashboard.ask(address("picture", name="digits/picture.svg")).status == 415
    html = dashboard.text(address("object", name=HOSTILE))
    assert "<img" not in html and "&lt;img src=x onerror=alert(1)&gt;" in html
    assert content_of(html) == "&lt;script&gt;alert(4)&lt;/script&gt;"


def test_a_preview_is_bounded_and_binary_content_has_none(dashboard: Dashboard, image: str) -> None:
    long = dashboard.text(address("object", name="long.txt"))
    assert "the first 256 KiB" in long and len(long) < preview.MOST_TEXT + 20_000
    assert "is binary" in dashboard.text(address("object", name="weights.bin"))
    assert "is empty" in dashboard.text(address("object", name="empty"))


def test_a_download_is_an_attachment(dashboard: Dashboard, image: str) -> None:
    answer = dashboard.ask(address("download", name=HOSTILE))
    assert answer.body == b"<script>alert(4)</script>"
    assert answer.headers["content-type"] == "application/octet-stream"
    disposition = answer.headers["content-disposition"]
    assert disposition.startswith('attachment; filename="') and "<" not in disposition
    assert_no_document(answer)
    dotted = dashboard.ask(address("download", name="a/../../b"))
    assert dotted.body == b"text" and 'filename="b"' in dotted.headers["content-disposition"]
    assert dashboard.ask(address("download", name="empty")).body == b""


def assert_no_document(answer: Answer) -> None:
    assert "sandbox" in answer.headers["content-security-policy"]
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_what_does_not_exist_is_said(dashboard: Dashboard, image: str) -> None:
    for path in (
        "/storage/folder",
        "/storage/object?bucket=x",
        "/storage/folder?bucket=no-such-bucket",
        address("object", name="no such object"),
        address("download", name="<script>"),
        "/images/repository?repository=nothing",
        "/images/repository",
        "/images/image?uri=<b>",
        "/resources/list?kind=x",
    ):
        answer = dashboard.ask(path.replace(" ", "%20"))
        assert answer.status == 404, path
        assert b"<b>" not in answer.body.replace(b"<b>local</b>", b"")


def test_images_have_tags_digest_platform_and_sizes(dashboard: Dashboard, image: str) -> None:
    assert ">images</a>" in dashboard.text("/images")
    digest = image.partition("@sha256:")[2]
    listed = dashboard.text("/images/repository?repository=images")
    assert ">digits</a>" in listed and ">latest<" in listed and digest[:12] in listed
    one = dashboard.text(f"/images/image?{urlencode({'uri': image})}")
    assert digest in one and "linux/amd64" in one and "layer 1" in one and ">latest<" in one


def test_no_other_registry_is_asked(dashboard: Dashboard, image: str) -> None:
    for uri in ("example.com/local/images/digits:latest", image.replace("/local/", "/other/")):
        assert dashboard.ask(f"/images/image?{urlencode({'uri': uri})}").status == 404


@every_row(
    "name, expected",
    [
        ("a/b/model.bin", "model.bin"),
        ("folder/", "folder"),
        ("..", "object"),
        ("a/.bashrc", "bashrc"),
        ('x"y\r\nSet-Cookie: a=b', "x_y__Set-Cookie_ a=b"),
        ("\u202egnp.exe", "_gnp.exe"),
        ("x" * 500, "x" * 120),
    ],
)
def test_names_of_files_are_harmless(name: str, expected: str) -> None:
    assert file_name(name) == expected


@every_row(
    "content, expected",
    [
        (b"\x89PNG\r\n\x1a\n...", "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF1234WEBPVP8 ", "image/webp"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'>", ""),
        (b" \x89PNG\r\n\x1a\n", ""),
        (b"RIFF1234WAVE", ""),
    ],
)
def test_pictures_are_recognized_by_their_bytes(content: bytes, expected: str) -> None:
    assert preview.picture_type(content) == expected
