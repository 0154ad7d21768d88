"""Access to the dashboard: the browser with the printed address, and no other page, host or method."""

from __future__ import annotations

import gzip

import pytest

from pulumi_vertex_training.ui.server.access import POLICY
from support.emulated.ui.dashboard import Dashboard
from support.tables import every_row

ACTION = "/actions/jobs/customJobs/1/cancel"
PATHS = ("/", "/live/", "/jobs/customJobs/1", "/jobs/customJobs/1/log.txt", "/nowhere")


@every_row("path", PATHS)
def test_nothing_is_shown_without_the_token(dashboard: Dashboard, path: str) -> None:
    wrong = f"vertex-training-{dashboard.port}=wrong"
    for cookie in ("", wrong, "vertex-training-1=x", f"other={dashboard.token}", 'a="'):
        answer = dashboard.ask(path, cookie=cookie)
        assert answer.status == 401, (path, cookie)
        assert b"vertex-training ui" in answer.body
        assert "set-cookie" not in answer.headers


@every_row("query", ["token=", "token=wrong", "once=wrong", "once=", "token=%C3%A9"])
def test_a_wrong_token_opens_nothing(dashboard: Dashboard, query: str) -> None:
    for cookie in ("", None):
        answer = dashboard.ask(f"/?{query}", cookie=cookie)
        assert answer.status == 401
        assert "set-cookie" not in answer.headers


def test_the_token_becomes_a_cookie_and_leaves_the_address(dashboard: Dashboard) -> None:
    answer = dashboard.ask(f"/jobs/customJobs/1?replica=a%26b&token={dashboard.token}", cookie="")
    assert answer.status == 303
    assert answer.headers["location"] == "/jobs/customJobs/1?replica=a%26b"
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"vertex-training-{dashboard.port}={dashboard.token};")
    assert "HttpOnly" in cookie and "samesite=strict" in cookie.lower() and "Path=/" in cookie
    assert dashboard.ask("/").status == 200


def test_the_answer_to_the_token_stays_on_this_host(dashboard: Dashboard) -> None:
    answer = dashboard.ask(f"//example.com/?token={dashboard.token}", cookie="")
    assert answer.status == 303
    assert answer.headers["location"] == "/example.com/"


@every_row(
    "host", ["example.com", "localhost", "127.0.0.1", "127.0.0.1:1", "127.0.0.1.example.com:{port}", ""]
)
def test_other_host_names_are_refused(dashboard: Dashboard, host: str) -> None:
    for path in (*PATHS, "/assets/live.js"):
        answer = dashboard.ask(path, headers={"Host": host.format(port=dashboard.port)})
        assert answer.status in (400, 403), (host, path)


def test_localhost_is_accepted(dashboard: Dashboard) -> None:
    assert dashboard.ask("/", headers={"Host": f"localhost:{dashboard.port}"}).status == 200


@every_row(
    "headers",
    [
        {"Origin": "http://example.com"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "https://{host}"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_requests_of_other_pages_are_refused(dashboard: Dashboard, headers: dict[str, str]) -> None:
    sent = {name: value.format(host=dashboard.host) for name, value in headers.items()}
    for path in (*PATHS, f"/?token={dashboard.token}", "/assets/live.js"):
        assert dashboard.ask(path, headers=sent).status == 403, path


def test_the_dashboards_own_requests_are_accepted(dashboard: Dashboard) -> None:
    own = {"Origin": f"http://{dashboard.host}", "Sec-Fetch-Site": "same-origin"}
    assert dashboard.ask("/", headers=own).status == 200
    assert dashboard.ask("/", headers={"Sec-Fetch-Site": "none"}).status == 200


@every_row("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_pages_answer_get_alone(dashboard: Dashboard, method: str) -> None:
    own = {"Origin": f"http://{dashboard.host}"}
    others = [ACTION] if method != "POST" else []
    for path in (*PATHS, *others, f"/?token={dashboard.token}"):
        answer = dashboard.ask(path, method=method, body=b"a=b", headers=own)
        assert answer.status == 405, path
        assert "set-cookie" not in answer.headers


def test_an_action_needs_the_cookie_an_origin_and_the_token_of_a_page(dashboard: Dashboard) -> None:
    own = {"Origin": f"http://{dashboard.host}"}
    refused = {
        "no cookie": dashboard.ask(ACTION, method="POST", headers=own, cookie="", body=b"{}").status,
        "no origin": dashboard.ask(ACTION, method="POST", body=b"{}").status,
        "other": dashboard.ask(ACTION, method="POST", headers={"Origin": "http://a.b"}, body=b"{}").status,
        "no token": dashboard.ask(ACTION, method="POST", headers=own, body=b"{}").status,
        "token of the address": dashboard.ask(
            ACTION, method="POST", headers={**own, "X-Page-Token": dashboard.token}, body=b"{}"
        ).status,
        "get": dashboard.ask(ACTION).status,
    }
    assert refused == {
        "no cookie": 401, "no origin": 403, "other": 403, "no token": 403, "token of the address": 403,
        "get": 405,
    }  # fmt: skip


def test_every_answer_has_the_headers(dashboard: Dashboard) -> None:
    answers = {
        "page": dashboard.ask("/"),
        "missing": dashboard.ask("/nowhere"),
        "no job": dashboard.ask("/jobs/customJobs/1"),
        "asset": dashboard.ask("/assets/style.css"),
        "missing asset": dashboard.ask("/assets/../command.py"),
        "login": dashboard.ask(f"/?token={dashboard.token}", cookie=""),
        "refused": dashboard.ask("/", cookie=""),
        "method": dashboard.ask("/", method="POST"),
        "host": dashboard.ask("/", headers={"Host": "example.com"}),
    }
    for name, answer in answers.items():
        assert answer.headers["content-security-policy"] == POLICY, name
        assert answer.headers["x-content-type-options"] == "nosniff", name
        assert answer.headers["referrer-policy"] == "no-referrer", name
        assert answer.headers["x-frame-options"] == "DENY", name
        assert answer.headers["cross-origin-resource-policy"] == "same-origin", name
        assert answer.headers["cache-control"] == ("no-cache" if name == "asset" else "no-store"), name
        assert "server" not in answer.headers, name
    assert {name: answer.status for name, answer in answers.items()} == {
        "page": 200, "missing": 404, "no job": 404, "asset": 200, "missing asset": 404, "login": 303,
        "refused": 401, "method": 405, "host": 403,
    }  # fmt: skip


def test_the_policy_allows_no_other_address_and_no_code_in_pages() -> None:
    directives = dict(each.split(" ", 1) for each in POLICY.split("; "))
    assert directives.pop("trusted-types") == "dashboard"
    assert directives.pop("require-trusted-types-for") == "'script'"
    assert directives["default-src"] == "'none'"
    assert set(directives.values()) == {"'none'", "'self'"}


@pytest.mark.parametrize(
    "path",
    ["/assets/live.js", "/assets/style.css", "/assets/pages.js", "/assets/pages.css", "/assets/icon.svg"],
)
def test_assets_need_no_token_and_name_no_other_address(dashboard: Dashboard, path: str) -> None:
    answer = dashboard.ask(path, cookie="")
    assert answer.status == 200
    text = answer.body.decode().replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert "://" not in text and "eval(" not in text and "@import" not in text


def test_assets_are_compressed_and_sent_again_only_if_they_differ(dashboard: Dashboard) -> None:
    path = "/assets/live.js"
    plain = dashboard.ask(path)
    small = dashboard.ask(path, headers={"Accept-Encoding": "br, gzip;q=0.9"})
    assert "content-encoding" not in plain.headers and small.headers["content-encoding"] == "gzip"
    assert gzip.decompress(small.body) == plain.body and len(small.body) < len(plain.body) / 2
    assert plain.headers["content-type"] == small.headers["content-type"] == "text/javascript; charset=utf-8"
    tag = {"If-None-Match": plain.headers["etag"]}
    assert (again := dashboard.ask(path, headers=tag)).status == 304 and again.body == b""
    assert dashboard.ask("/assets/style.css", headers=tag).status == 200
    page = dashboard.ask("/", headers={"Accept-Encoding": "gzip"})
    assert "content-encoding" not in page.headers, "its length would tell about the token in it"


def test_a_missing_asset_shows_nobody_the_token_of_a_page(dashboard: Dashboard) -> None:
    page = dashboard.text("/")
    assert 'data-token="' in page
    for path in ("/assets/nothing-here", "/assets/", "/assets/../", "/assets/%2e%2e/", "/nowhere"):
        assert b"data-token" not in dashboard.ask(path, cookie="").body, path
    assert b"data-token" in dashboard.ask("/nowhere").body
