"""The pages of a real emulator; texts of others are text in them."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from support.emulated.job_emulator import pool
from support.emulated.ui.dashboard import Dashboard
from support.emulated.ui.scene import Scene, owned
from vertex_emulator.client.launcher import Emulator

HOSTILE = "<img src=x onerror=alert(1)>\"'</script><script>alert(2)</script>{{7*7}}\u202e\x1b[31m&amp;"
"""Markup, an end of a script, a template, an order to turn the text, and one of a terminal."""

ALLOWED = {
    *("a", "b", "body", "button", "code", "dd", "details", "dialog", "div", "dl", "dt", "footer", "form"),
    *("h1", "h2", "h3", "head"),
    *("header", "html", "input", "label", "li", "link", "main", "meta", "nav", "ol", "option", "p", "pre"),
    *("progress", "script", "section", "select", "small", "span", "summary", "table", "tbody", "td", "th"),
    *("thead", "time", "title", "tr", "ul"),
}


ALLOWED |= {"figure", "figcaption"}
OF_SOME_PAGES = ("/assets/uplot.js", "/assets/curves.js", "/assets/columns.js")


class Elements(HTMLParser):
    """Collects the elements of a page. Each must be one of our templates, without code in attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.scripts: list[str] = []
        self.ids: list[str] = []
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ALLOWED, tag
        for name, value in attrs:
            assert not name.startswith("on") and name != "style", (tag, name)
            if name in ("href", "src"):
                self.addresses.append(value or "")
            if name == "id":
                self.ids.append(value or "")
            if tag == "script" and name == "src":
                self.scripts.append(value or "")


def elements(html: str) -> Elements:
    found = Elements()
    found.feed(html)
    assert set(found.scripts) - set(OF_SOME_PAGES) == {"/assets/live.js", "/assets/pages.js"}
    assert all(one.startswith(("/", "?", "#")) and not one.startswith("//") for one in found.addresses)
    assert len(found.ids) == len(set(found.ids))
    return found


@pytest.fixture(scope="module")
def scene(emulator: Emulator) -> Scene:
    return Scene(emulator)


@pytest.fixture(scope="module")
def failed(scene: Scene) -> str:
    """Return the key of a job with a hostile name that logged hostile lines and failed with one."""
    code = f"import sys\nprint({HOSTILE!r})\nprint({HOSTILE!r}, file=sys.stderr)\nsys.exit({HOSTILE!r})"
    key = scene.create(pool(code), name=HOSTILE.replace("\x1b", ""), labels=owned("hostile"))
    scene.wait(key, "JOB_STATE_FAILED")
    return key


@pytest.fixture(scope="module")
def rerun(scene: Scene) -> tuple[str, str]:
    """Return the keys of two runs of one declaration: the second has more workers."""
    first = scene.create(pool("print('one')"), pool("", replicas=1), name="digits", labels=owned("digits"))
    scene.wait(first)
    second = scene.create(
        pool("print('two')", env=[{"name": "TOKEN", "value": "hunter2"}]),
        pool("", replicas=3),
        name="digits",
        labels=owned("digits", run="feed-2", reason="spec"),
    )
    scene.wait(second)
    return first, second


def test_the_overview_shows_all_and_who_declares_it(
    dashboard: Dashboard, scene: Scene, failed: str, rerun: tuple[str, str]
) -> None:
    scene.bucket(
        "data-of-digits", {"pulumi-project": "train", "pulumi-stack": "dev", "pulumi-resource": "data"}
    )
    html = dashboard.text("/")
    found = elements(html)
    assert {f"job/{key}" for key in (failed, *rerun)} <= set(found.ids)
    assert f"/jobs/{rerun[1]}" in found.addresses
    row = re.search(rf'<tr role="row" id="job/{rerun[1]}".*?</tr>', html, re.DOTALL)
    assert row is not None
    declared = re.search(r'data-label="Declared by">(.*?)</td>', row[0])
    assert declared is not None and "succeeded" in row[0]
    assert declared[1] == " <small>train/dev</small>", "the job has the name of its resource"
    assert "bucket/data-of-digits" in found.ids and "data <small>train/dev</small>" in html
    assert "<b>emulator</b> · local · us-central1" in html


def test_a_hostile_name_is_text_in_the_overview(dashboard: Dashboard, failed: str) -> None:
    html = dashboard.text("/")
    elements(html)
    assert "&lt;img src=x onerror=alert(1)&gt;" in html and "{{7*7}}" in html
    assert "\\u202e" in html and "\u202e" not in html


def test_hostile_lines_and_errors_are_text_on_the_page_of_the_job(dashboard: Dashboard, failed: str) -> None:
    html = dashboard.text(f"/jobs/{failed}")
    elements(html)
    assert html.count("&lt;img src=x onerror=alert(1)&gt;") >= 4  # title, heading, lines, cause
    assert "\u202e" not in html and "\x1b" not in html and "\\x1b[31m" in html
    assert "Why it failed" in html and "49" not in re.findall(r"alert\(2\).{0,30}", html)[0]


def test_hostile_lines_are_data_in_the_stream(dashboard: Dashboard, failed: str) -> None:
    with dashboard.events(f"/live/jobs/{failed}") as events:
        log = next(each for each in events if each.name == "log")
    messages = [message for _, _, replica, message in log.data if replica == "workerpool0-0"]
    assert any("<img src=x onerror=alert(1)>" in one and "\\x1b[31m" in one for one in messages)
    assert not any("\x1b" in one or "\u202e" in one for one in messages)


def test_hostile_parameters_are_text(dashboard: Dashboard, rerun: tuple[str, str]) -> None:
    for path in (f"/jobs/{rerun[1]}?replica=%3Cscript%3Ealert(1)%3C/script%3E", f"/jobs/{rerun[1]}?x=%22%3E"):
        html = dashboard.text(path)
        elements(html)
        assert "<script>alert" not in html
    for path in ("/jobs/customJobs/%3Cscript%3E", "/%3Cscript%3E", "/jobs/%3Cb%3E/1", "/jobs/customJobs/1"):
        answer = dashboard.ask(path)
        assert answer.status == 404
        elements(answer.body.decode())


def test_the_page_of_a_job_shows_replicas_events_and_log(
    dashboard: Dashboard, rerun: tuple[str, str]
) -> None:
    html = dashboard.text(f"/jobs/{rerun[1]}")
    found = elements(html)
    names = {"replica-workerpool0-0", *(f"replica-workerpool1-{number}" for number in range(3))}
    assert names <= set(found.ids)
    assert re.search(r'workers \(3\)</h3>\s*<p title="workers 3 x n1-standard-4">n1-standard-4</p>', html)
    assert "Job completed successfully." in html
    assert ">two</span>" in html


def test_the_page_says_what_changed_since_the_run_before(
    dashboard: Dashboard, rerun: tuple[str, str]
) -> None:
    first, second = (dashboard.text(f"/jobs/{key}") for key in rerun)
    assert "first run that is known" in first
    assert "Run 2" in second and "its spec changed" in second
    assert f'href="/jobs/{rerun[0]}"' in second
    assert re.search(r"<li>[^<]*workers: 1 -&gt; 3 x n1-standard-4[^<]*</li>", second)


def test_the_environment_of_a_replica_is_readable_and_hides_declared_values(
    dashboard: Dashboard, rerun: tuple[str, str]
) -> None:
    html = dashboard.text(f"/jobs/{rerun[1]}?replica=workerpool0-0")
    assert "Environment of workerpool0-0" in html
    assert html.count("workerpool1") > 3 and "TF_CONFIG" in html and "CLUSTER_SPEC" in html
    assert "TOKEN" in html and "[secret]" in html and "hunter2" not in html
    assert "hunter2" not in dashboard.text(f"/jobs/{rerun[1]}")


def test_the_log_can_be_downloaded_whole_and_for_one_replica(dashboard: Dashboard, failed: str) -> None:
    answer = dashboard.ask(f"/jobs/{failed}/log.txt")
    assert answer.status == 200
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    job_id = failed.partition("/")[2]
    assert answer.headers["content-disposition"] == f'attachment; filename="custom-job-{job_id}.log"'
    text = answer.body.decode()
    assert "<img src=x" in text and " service Job failed." in text and "\x1b" not in text
    one = dashboard.ask(f"/jobs/{failed}/log.txt?replica=workerpool0-0").body.decode()
    assert "<img src=x" in one and " service " not in one


def test_the_dashboard_only_reads(
    dashboard: Dashboard, scene: Scene, failed: str, rerun: tuple[str, str]
) -> None:
    """Walk over all addresses; the emulator sees reads alone, one of which has to be a POST."""
    before = scene.requests()[-1]["number"]
    walked: set[str] = set()
    left = ["/", f"/jobs/{failed}", f"/jobs/{rerun[1]}", "/nowhere", f"/jobs/{failed}/log.txt"]
    while left:
        path = left.pop()
        walked.add(path)
        body = dashboard.ask(path).body.decode()
        links = re.findall(r'href="([^"#]*)["#]', body) if "<html" in body else []
        here = path.partition("?")[0]
        for link in (here + one if one.startswith("?") else one for one in links):
            if link and link not in walked and not link.startswith("/assets"):
                left.append(link)
    with dashboard.events("/live/") as events:
        next(events)
    made = {(one["method"], one["target"].partition("?")[0]) for one in scene.requests(after=before)}
    assert {method for method, path in made if path != "/v2/entries:list"} == {"GET"}
    assert len(walked) > 6
