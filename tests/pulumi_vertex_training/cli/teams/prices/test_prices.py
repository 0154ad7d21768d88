"""`vertex-training prices`, and `prices refresh` over the wire from a catalog in the form of Google's."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pulumi_vertex_training.cli.main import main
from pulumi_vertex_training.cloud.prices import price_file
from support import json_schema
from support.prices import billing_catalog
from support.scripted_service import Answer, Service, refusal
from support.tables import every_row
from vertex_training.cost.prices import built_in

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "vertex-training" / "prices.json"


@pytest.fixture
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    """Serve the Cloud Billing catalog, and lead this process to it as gcloud's variables do."""
    service = Service()
    service.script(billing_catalog.answer)
    token = tmp_path / "token"
    token.write_text(f"{billing_catalog.TOKEN}\n")
    monkeypatch.setenv("CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDBILLING", f"{service.url}/")
    monkeypatch.setenv("CLOUDSDK_AUTH_ACCESS_TOKEN_FILE", str(token))
    yield service
    service.close()


def run(captured: Captured, *arguments: str, code: int = 0) -> str:
    assert main(["prices", *arguments]) == code
    return captured.readouterr().out


def document(captured: Captured, *arguments: str, code: int = 0) -> Any:
    return json.loads(run(captured, *arguments, "--json", code=code))


def prices_of(found: Any, sku: str) -> dict[str, float]:
    return {row["use"]: row["usdPerHour"] for row in found["prices"] if row["sku"] == sku}


def test_the_table_of_a_region(cache: Path, capsys: Captured) -> None:
    text = run(capsys, "--location", "europe-west4")
    assert text.startswith("Prices in europe-west4\n")
    assert next(line for line in text.splitlines() if line.startswith("n1 core ")).split()[2] == "0.034802*"
    assert "SkyPilot's catalog" in text
    assert "`vertex-training prices refresh` reads Google's current ones" in text


def test_the_table_as_json(cache: Path, capsys: Captured) -> None:
    found = document(capsys)
    assert (found["currency"], found["location"], found["refreshed"]) == ("USD", "us-central1", False)
    assert found["date"] == built_in().date
    assert prices_of(found, "NVIDIA_TESLA_T4") == {"on_demand": 0.35, "spot": 0.175, "fee": 0.0525}
    assert {"sku", "use", "usdPerHour", "source", "date", "derived"} == set(found["prices"][0])


def test_the_page_of_the_json_names_every_key(cache: Path, capsys: Captured) -> None:
    found = document(capsys)
    keys = {*found, *(f"prices[].{key}" for row in found["prices"] for key in row), "warning"}
    assert json_schema.keys("prices") == keys
    json_schema.check("prices", found)
    of = document(capsys, "--of", "n1-standard-4")
    json_schema.check("prices --of", of)
    assert {*of, *(f"regions[].{key}" for key in of["regions"][0])} == {
        key for key in json_schema.keys("prices --of") if not key.startswith("unknown[]")
    }


@every_row(
    "name, price",
    [
        ("n1-standard-4", 0.21849885),
        ("N1-Standard-4", 0.21849885),
        ("NVIDIA_TESLA_T4", 0.4025),
        ("nvidia_tesla_t4", 0.4025),
        ("t4", 0.4025),
    ],
)
def test_regions_compared(cache: Path, capsys: Captured, name: str, price: float) -> None:
    found = document(capsys, "--of", name)
    prices = {each["region"]: each["onDemand"] for each in found["regions"]}
    assert prices["us-central1"] == pytest.approx(price, abs=2e-6)
    known = [value for value in prices.values() if value is not None]
    assert known == sorted(known)


def test_regions_compared_for_people(cache: Path, capsys: Captured) -> None:
    lines = run(capsys, "--of", "n1-standard-4").splitlines()
    assert lines[0] == "Price of n1-standard-4, with the fee of Vertex AI, without a boot disk"
    assert lines[3].split() == ["REGION", "ON", "DEMAND", "SPOT", "FLEX-START", "DATE"]
    assert lines[4].split()[:2] == ["us-central1", "0.218499*"]


def test_only_derived_prices_are_marked(cache: Path, capsys: Captured) -> None:
    lines = run(capsys, "--of", "a3-highgpu-8g").splitlines()
    assert next(line for line in lines if line.startswith("us-central1 ")).split()[1:4] == [
        "101.007435*",
        "40.268105*",
        "51.495",
    ]


@every_row(
    "name, unknown",
    [
        (
            "a2-highgpu-1g",
            {
                "management fee for a2-highgpu-1g": "no source has this fee",
                "management fee for NVIDIA_TESLA_A100": "no source has this fee",
            },
        ),
        ("NVIDIA_TESLA_A100", {"management fee for NVIDIA_TESLA_A100": "no source has this fee"}),
        ("cloud-tpu", {"cloud-tpu": "only its accelerators have a price: TPU_V2, TPU_V3"}),
        ("b200", {"NVIDIA_B200": "no source has a price"}),
    ],
)
def test_what_has_no_price_says_why(
    cache: Path, capsys: Captured, name: str, unknown: dict[str, str]
) -> None:
    found = document(capsys, "--of", name)
    assert found["regions"] == []
    assert {gap["what"]: gap["why"] for gap in found["unknown"]} == unknown
    text = run(capsys, "--of", name)
    assert "with the fee of Vertex AI is known" in text
    assert "REGION" not in text
    assert all(f"{what}: {why}" in text for what, why in unknown.items())


@every_row(
    "name, heading, legend",
    [
        ("pd-ssd", "Price of pd-ssd, with the fee of Vertex AI", "USD an hour for one GB, "),
        ("local-ssd", "Price of local-ssd", "USD an hour for one GB, "),
        ("n1 core", "Price of n1 core, with the fee of Vertex AI", "USD an hour for one vCPU, "),
        ("t4", "Price of NVIDIA_TESLA_T4, with the fee of Vertex AI", "USD an hour for one GPU, "),
    ],
)
def test_the_heading_names_the_unit(
    cache: Path, capsys: Captured, name: str, heading: str, legend: str
) -> None:
    lines = run(capsys, "--of", name).splitlines()
    assert lines[0] == heading
    assert lines[1].startswith(legend)


def test_the_price_of_a_disk_has_more_digits(cache: Path, capsys: Captured) -> None:
    line = next(line for line in run(capsys, "--of", "pd-ssd").splitlines() if line.startswith("us-central1"))
    assert line.split()[1] == "0.00026781*"


@every_row(
    "arguments, path, message",
    [
        (["--location", "us-centrl1"], "--location", "did you mean us-central1"),
        (["--of", "n1-standart-4"], "--of", "Did you mean 'n1-standard-4'?"),
        (["--of", "nvidia_l44"], "--of", "Did you mean 'NVIDIA_L4'?"),
        (["--of", "h100"], "--of", "Several names have it: NVIDIA_H100_80GB, NVIDIA_H100_MEGA_80GB."),
        (["--of", ""], "--of", "'' is not a machine type"),
        (["--location", ""], "--location", "There are no prices of ''"),
        (["--of", "n1"], "--of", "Several names have it: n1 core, n1 ram, n1-highcpu-16, "),
        (["--of", "n1"], "--of", "n1-highmem-2 and 11 more."),
        (["--of", "-"], "--of", "'-' is not a machine type"),
        (["refesh"], "refresh", "'refesh' is not allowed here; give `refresh`, or `--of NAME`"),
        (["n1-standard-4"], "refresh", "or `--of NAME` for a machine or accelerator"),
        (["--of", "n1-standard-4", "--location", "us-central1"], "--location", "not allowed with"),
        (["refresh", "--location", "us-central1"], "refresh", "reads all prices"),
    ],
)
def test_wrong_arguments(
    cache: Path, capsys: Captured, arguments: list[str], path: str, message: str
) -> None:
    (error,) = document(capsys, *arguments, code=2)["errors"]
    assert error["path"] == path
    assert message in error["message"]


def test_refresh_replaces_what_google_answers_and_keeps_the_rest(
    cache: Path, catalog: Service, capsys: Captured
) -> None:
    before = document(capsys, "--location", "asia-southeast1")
    found = document(capsys, "refresh")
    assert found["file"] == str(cache)
    assert found["regions"] == ["asia-southeast1", "us-central1", "us-east1", "us-west1"]
    assert len(catalog.asked) == -(-len(billing_catalog.VERTEX_AI) // 5) - (
        -len(billing_catalog.COMPUTE_ENGINE) // 5
    )
    assert {asked.query["currencyCode"][0] for asked in catalog.asked} == {"USD"}

    after = document(capsys, "--location", "asia-southeast1")
    assert after["refreshed"] is True
    assert prices_of(after, "n1 core") == {"on_demand": 0.038999, "spot": 0.0066, "fee": 0.00584985}
    assert prices_of(before, "n1 core")["spot"] != 0.0066
    assert prices_of(after, "NVIDIA_L4") == prices_of(before, "NVIDIA_L4")
    sources = {row["source"] for row in after["prices"] if row["sku"] == "n1 core"}
    assert sources == {"Google's Cloud Billing catalog"}
    assert price_file.current_prices().price("n1 core", "asia-southeast1", "spot") is not None


def test_a_fee_by_rule_follows_a_new_price(cache: Path, catalog: Service, capsys: Captured) -> None:
    run(capsys, "refresh")
    table = price_file.current_prices()
    price, fee = (table.price("NVIDIA_TESLA_T4", "us-west1", use) for use in ("on_demand", "fee"))
    assert price is not None and fee is not None
    assert price.source == "Google's Cloud Billing catalog"
    assert fee.usd_per_hour == pytest.approx(0.15 * price.usd_per_hour)
    assert fee.date == price.date


def test_refresh_in_words(cache: Path, catalog: Service, capsys: Captured) -> None:
    text = run(capsys, "refresh")
    assert text.startswith("Read ") and text.endswith(f" prices of 4 regions into {cache}.\n")
    assert re.search(
        rf"Read from Google's Cloud Billing catalog on \d{{4}}-\d\d-\d\d into {re.escape(str(cache))}",
        run(capsys),
    )


def test_a_file_that_is_older_than_the_built_in_prices(cache: Path, capsys: Captured) -> None:
    cache.parent.mkdir(parents=True, exist_ok=True)
    cache.write_text(json.dumps({"version": 1, "rows": [{**ROW, "date": "2024-01-31"}]}))
    text = run(capsys)
    assert "catalog on 2024-01-31 into" in text
    assert f"Those are of {built_in().date}." in text


@every_row(
    "answer, reason, remedy",
    [
        (
            refusal(403, "PERMISSION_DENIED", "Cloud Billing API has not been used"),
            "PERMISSION_DENIED",
            "`gcloud services enable cloudbilling.googleapis.com`.",
        ),
        (
            refusal(401, "UNAUTHENTICATED", "invalid authentication credentials"),
            "UNAUTHENTICATED",
            "`gcloud auth application-default login`.",
        ),
        (
            Answer(text="<html>login</html>", content_type="text/html"),
            "UNEXPECTED_ANSWER",
            "Check the address, the location and the proxy settings; the answer was ignored.",
        ),
        (
            Answer(document={"skus": [], "nextPageToken": "again"}),
            "UNEXPECTED_ANSWER",
            "Check the address, the location and the proxy settings; the answer was ignored.",
        ),
    ],
)
def test_a_refused_refresh_changes_nothing(
    cache: Path, catalog: Service, capsys: Captured, answer: Answer, reason: str, remedy: str
) -> None:
    catalog.script(answer)
    (error,) = document(capsys, "refresh", code=1)["errors"]
    assert error["reason"] == reason
    assert error["message"].startswith("Could not read the Cloud Billing catalog (Google Cloud): ")
    assert error["message"].endswith(remedy)
    assert not cache.exists()
    assert document(capsys)["refreshed"] is False


def test_a_catalog_without_prices_changes_nothing(cache: Path, catalog: Service, capsys: Captured) -> None:
    run(capsys, "refresh")
    before = cache.read_bytes()
    catalog.script(Answer(document={"skus": []}))
    (error,) = document(capsys, "refresh", code=1)["errors"]
    assert "has no price that this version can read" in error["message"]
    assert cache.read_bytes() == before


def test_a_token_file_that_cannot_be_read(
    cache: Path, catalog: Service, capsys: Captured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLOUDSDK_AUTH_ACCESS_TOKEN_FILE", str(tmp_path / "missing"))
    (error,) = document(capsys, "refresh", code=1)["errors"]
    assert "CLOUDSDK_AUTH_ACCESS_TOKEN_FILE" in error["message"]
    assert catalog.asked == []


ROW = {
    "sku": "n1 core",
    "region": "us-central1",
    "use": "spot",
    "usdPerHour": 0.5,
    "source": "s",
    "date": "2026-11-24",
    "derived": False,
}


@every_row(
    "text, reason",
    [
        ("", "it is not JSON"),
        ("no JSON", "it is not JSON"),
        ("[" * 100_000, "it is not JSON"),
        ("[]", "it is not a file of prices"),
        (
            '{"version": 7, "rows": []}',
            "a newer pulumi-vertex-training wrote it, in format 7; this one reads 1",
        ),
        ('{"version": 0, "rows": []}', "it is not a file of prices"),
        ('{"version": 1}', "it has no rows"),
        ('{"version": 1, "rows": []}', "it has no rows"),
        (json.dumps({"version": 1, "rows": [7]}), "a row has no price"),
        (json.dumps({"version": 1, "rows": [{**ROW, "usdPerHour": "free"}]}), "a row has no price"),
        (json.dumps({"version": 1, "rows": [{**ROW, "usdPerHour": True}]}), "a row has no price"),
        (json.dumps({"version": 1, "rows": [{**ROW, "usdPerHour": 1e300}]}), "a row has no price"),
        ('{"version": 1, "rows": [{"usdPerHour": NaN}]}', "a row has no price"),
        (json.dumps({"version": 1, "rows": [{**ROW, "use": "gift"}]}), "a row is incomplete"),
        (json.dumps({"version": 1, "rows": [{**ROW, "sku": None}]}), "a row is incomplete"),
        (json.dumps({"version": 1, "rows": [{**ROW, "date": "tomorrow"}]}), "a row has no date"),
    ],
)
def test_a_broken_file_is_reported_and_the_built_in_prices_count(
    cache: Path, capsys: Captured, text: str, reason: str
) -> None:
    cache.parent.mkdir(parents=True, exist_ok=True)
    cache.write_text(text)
    assert price_file.current_prices() is built_in()
    assert f"{cache} is ignored: {reason}" in document(capsys)["warning"]


@pytest.mark.parametrize("kind", ["pipe", "folder", "huge", "endless"])
def test_what_is_no_small_file_is_not_read(cache: Path, kind: str) -> None:
    cache.parent.mkdir(parents=True, exist_ok=True)
    if kind == "pipe":
        os.mkfifo(cache)
    elif kind == "folder":
        cache.mkdir()
    elif kind == "huge":
        with cache.open("w") as file:
            file.truncate(1 << 40)
    else:
        cache.symlink_to("/dev/zero")
    found = price_file.load()
    assert found.table is built_in()
    assert found.problem.endswith("is ignored: it is not a file of at most 32 MiB")


def test_a_file_that_cannot_be_opened_or_decoded_is_reported(cache: Path, capsys: Captured) -> None:
    cache.parent.mkdir(parents=True, exist_ok=True)
    cache.symlink_to(cache.name)
    assert document(capsys)["warning"] == f"{cache} is ignored: Too many levels of symbolic links"
    cache.unlink()
    cache.write_bytes(b"\xff\xfe")
    assert document(capsys)["warning"] == f"{cache} is ignored: it is not UTF-8 text"


def test_explain_reports_a_file_that_it_ignores(cache: Path, capsys: Captured, tmp_path: Path) -> None:
    cache.parent.mkdir(parents=True, exist_ok=True)
    cache.write_text("no JSON")
    job = tmp_path / "job.json"
    pool = {
        "machineSpec": {"machineType": "n1-standard-4"},
        "replicaCount": 1,
        "containerSpec": {"imageUri": "a/b:1"},
    }
    job.write_text(json.dumps({"workerPoolSpecs": [pool]}))
    assert main(["explain", str(job)]) == 0
    captured = capsys.readouterr()
    assert "Cost in us-central1" in captured.out
    assert f"warning: {cache} is ignored" in captured.err


def test_no_file_and_no_home_have_the_built_in_prices(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert price_file.current_prices() is built_in()
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
    monkeypatch.setenv("HOME", str(cache.parent))
    assert price_file.current_prices() is built_in()


def test_a_file_in_a_folder_that_cannot_be_written(
    cache: Path, catalog: Service, capsys: Captured, tmp_path: Path
) -> None:
    (tmp_path / "vertex-training").write_text("a file in place of the folder")
    (error,) = document(capsys, "refresh", code=1)["errors"]
    assert "could not be saved" in error["message"]
