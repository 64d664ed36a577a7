"""The real registry: the ids it gives, what it refuses, and what a codec makes of its answers."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
import requests

from infra.registry import provision
from infra.registry.releases import Release, load_releases
from services.eventkit.codec import Codec, SchemaMismatch, Undecodable
from services.eventkit.registry import RegistryUnavailable
from services.eventkit.schemas import Schema, Schemas, digest, wire_form
from tests.live_stack import Ground

SCHEMAS = Schemas.load()
# Far from the ids of the lock: what a test registers must not take the next real one.
TRIAL_ID = 900_001


@pytest.fixture(scope="module")
def url(ground: Ground) -> str:
    return ground.settings.registry_url


def record(name: str, **types: Any) -> dict[str, Any]:
    """A schema; a field given as (type, default) has one."""
    fields = [
        {"name": field, "type": kind[0], "default": kind[1]}
        if isinstance(kind, tuple)
        else {"name": field, "type": kind}
        for field, kind in types.items()
    ]
    return {"type": "record", "name": name, "namespace": "shop.trial", "fields": fields}


def trial(number: int, version: int, schema: Mapping[str, Any]) -> Release:
    return Release(TRIAL_ID + number, f"shop.trial.{schema['name']}", version, schema, {}, "")


SAMPLE_1 = trial(0, 1, record("Sample", a="string"))
SAMPLE_2 = trial(1, 2, record("Sample", a="string", b=("string", "")))
NEIGHBOUR = trial(2, 1, record("Neighbour", a="string"))


@pytest.fixture(scope="module")
def trials(url: str) -> str:
    """A registry that also knows two versions of one record and another record."""
    provision.register(url, [SAMPLE_1, SAMPLE_2, NEIGHBOUR])
    return url


def post(url: str, path: str, schema: Mapping[str, Any]) -> requests.Response:
    return requests.post(f"{url}/{path}", json={"schema": wire_form(schema)}, timeout=30)


def compatible_with_all(url: str, subject: str, schema: Mapping[str, Any]) -> bool:
    """Asks about every version; the path ``versions/latest`` would ask about one."""
    answer = post(url, f"compatibility/subjects/{subject}/versions?verbose=true", schema)
    answer.raise_for_status()
    return bool(answer.json()["is_compatible"])


def test_every_released_version_has_its_id(url: str) -> None:
    for release in load_releases():
        answer = requests.get(f"{url}/schemas/ids/{release.id}", timeout=30)
        assert digest(json.loads(answer.json()["schema"])) == digest(release.schema)
        assert provision.id_of(url, release) == release.id


def test_filling_it_again_changes_nothing(url: str) -> None:
    before = requests.get(f"{url}/subjects", timeout=30).json()
    assert "new" not in provision.ensure(url)
    assert requests.get(f"{url}/subjects", timeout=30).json() == before


@pytest.mark.parametrize("event_type", SCHEMAS)
def test_todays_schema_is_compatible_with_all_versions(url: str, event_type: str) -> None:
    schema = SCHEMAS[event_type]
    answer = requests.post(
        f"{url}/compatibility/subjects/{schema.full_name}/versions?verbose=true",
        json={"schema": schema.text},
        timeout=30,
    )
    assert answer.json()["is_compatible"], answer.text


def test_c54_a_version_that_breaks_only_the_first_is_refused(trials: str) -> None:
    breaks_1 = record("Sample", a="string", b="string")

    assert not compatible_with_all(trials, SAMPLE_1.subject, breaks_1)
    answer = post(trials, f"subjects/{SAMPLE_1.subject}/versions", breaks_1)
    assert answer.status_code == requests.codes.conflict
    versions = requests.get(f"{trials}/subjects/{SAMPLE_1.subject}/versions", timeout=30)
    assert versions.json() == [1, 2]


def test_c54_a_new_field_with_a_default_is_accepted(trials: str) -> None:
    grown = record("Sample", a="string", b=("string", ""), c=("long", 0))
    assert compatible_with_all(trials, SAMPLE_1.subject, grown)


def test_c54_a_second_event_type_has_versions_of_its_own(trials: str) -> None:
    answer = requests.get(f"{trials}/subjects/{NEIGHBOUR.subject}/versions", timeout=30)
    assert answer.json() == [1]


def test_a_version_registered_later_gets_its_locked_id(trials: str) -> None:
    for release in (SAMPLE_1, SAMPLE_2, NEIGHBOUR):
        assert provision.id_of(trials, release) == release.id


def test_a_codec_starts_when_the_registry_agrees(url: str) -> None:
    Codec(SCHEMAS, url).start()


def test_a_codec_refuses_to_start_on_another_id_and_names_the_subject(url: str) -> None:
    wrong = {**SCHEMAS, "EmailSent": replace(SCHEMAS["EmailSent"], id=1)}
    with pytest.raises(SchemaMismatch, match=r"shop\.email\.EmailSent.*1003.*1"):
        Codec(Schemas(wrong, SCHEMAS.lock), url).start()


def test_c49_the_writers_schema_comes_from_the_registry(trials: str) -> None:
    codec = Codec(Schemas({"Sample": as_ours(SAMPLE_1)}, {}), trials)
    from_v2 = b"\x00" + SAMPLE_2.id.to_bytes(4, "big") + b"\x02a\x02b"
    assert codec.decode("Sample", from_v2) == {"a": "a"}


def as_ours(release: Release) -> Schema:
    name = release.subject.rpartition(".")[2]
    text = wire_form(release.schema)
    return Schema(name, release.subject, "trial", "1", release.id, text, dict(release.schema))


def test_an_id_nobody_released_is_undecodable(url: str) -> None:
    with pytest.raises(Undecodable, match="unknown_schema"):
        Codec(SCHEMAS, url).decode("EmailSent", b"\x00\x7f\xff\xff\xff\x02k")


def test_another_records_id_is_the_wrong_record(trials: str) -> None:
    raw = b"\x00" + NEIGHBOUR.id.to_bytes(4, "big") + b"\x02k"
    with pytest.raises(Undecodable, match="wrong_record"):
        Codec(SCHEMAS, trials).decode("EmailSent", raw)


def test_a_registry_that_lost_a_released_id_is_not_the_records_fault(url: str) -> None:
    line = replace(SCHEMAS.lock[SCHEMAS["EmailSent"].id], id=5000)
    codec = Codec(Schemas(SCHEMAS, {5000: line}), url)
    with pytest.raises(RegistryUnavailable, match="5000"):
        codec.decode("EmailSent", b"\x00\x00\x00\x13\x88\x02k")


def test_a_registry_that_answers_with_another_schema_is_not_believed(trials: str) -> None:
    line = replace(SCHEMAS.lock[SCHEMAS["EmailSent"].id], id=NEIGHBOUR.id)
    codec = Codec(Schemas(SCHEMAS, {NEIGHBOUR.id: line}), trials)
    raw = b"\x00" + NEIGHBOUR.id.to_bytes(4, "big") + b"\x02k"
    with pytest.raises(RegistryUnavailable, match=r"is not shop\.email\.EmailSent"):
        codec.decode("EmailSent", raw)


def test_no_registry_at_all_is_infrastructure() -> None:
    nobody = "http://127.0.0.1:1/apis/ccompat/v7"
    with pytest.raises(RegistryUnavailable):
        Codec(SCHEMAS, nobody).start()
    with pytest.raises(RegistryUnavailable):
        Codec(SCHEMAS, nobody).decode("EmailSent", b"\x00\x7f\xff\xff\xff\x02k")
