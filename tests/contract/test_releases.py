"""Released versions are for ever: their ids, their recorded bytes, and who can read them."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from infra.registry.lock import Incompatible, release_new
from infra.registry.releases import LockBroken, Release, as_json, load_releases, read_back
from services.eventkit.codec import Codec
from services.eventkit.schemas import (
    LOCK_NAME,
    SCHEMAS_DIR,
    SchemaNotReleased,
    Schemas,
    read_lock,
)

RELEASES = load_releases()
SCHEMAS = Schemas.load()

each_release = pytest.mark.parametrize(
    "release", RELEASES, ids=lambda release: f"{release.subject}.v{release.version}"
)


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of schemas/ that a test may change."""
    return Path(shutil.copytree(SCHEMAS_DIR, tmp_path / "schemas"))


def change(root: Path, **field: Any) -> None:
    """Adds a field to EmailSent."""
    path = root / "email" / "EmailSent.avsc"
    schema = json.loads(path.read_text())
    schema["fields"].append({"doc": "New.", **field})
    path.write_text(json.dumps(schema))


def test_ids_rise_and_none_is_used_twice() -> None:
    ids = [line.id for line in read_lock()]
    assert ids == sorted(set(ids))
    assert ids[0] == 1001


def test_versions_of_a_subject_are_counted_from_one() -> None:
    versions: dict[str, list[int]] = {}
    for line in read_lock():
        versions.setdefault(line.subject, []).append(line.version)
    assert all(found == list(range(1, len(found) + 1)) for found in versions.values())


def test_this_code_writes_the_latest_version() -> None:
    latest = {line.subject: str(line.version) for line in read_lock()}
    assert {schema.full_name: schema.version for schema in SCHEMAS.values()} == latest


@each_release
def test_recorded_bytes_still_say_what_they_said(release: Release) -> None:
    assert as_json(read_back(release)) == release.data


@each_release
def test_recorded_bytes_are_read_by_todays_schema(release: Release) -> None:
    codec = Codec(SCHEMAS, writer_schemas={release.id: release.schema})
    raw = b"\x00" + release.id.to_bytes(4, "big") + bytes.fromhex(release.avro)
    fields = as_json(codec.decode(release.subject.rpartition(".")[2], raw))
    assert (
        fields.items()
        >= {name: value for name, value in release.data.items() if name in fields}.items()
    )


def test_nothing_is_released_twice(copied: Path) -> None:
    before = (copied / LOCK_NAME).read_text()
    assert release_new(copied) == []
    assert (copied / LOCK_NAME).read_text() == before


def test_a_new_version_gets_the_next_id_and_keeps_the_old_one(copied: Path) -> None:
    change(copied, name="language", type="string", default="en")
    with pytest.raises(SchemaNotReleased, match=r"infra\.registry\.lock"):
        Schemas.load(copied)

    (line,) = release_new(copied)

    assert (line.subject, line.version) == ("shop.email.EmailSent", 2)
    assert line.id == RELEASES[-1].id + 1
    assert Schemas.load(copied)["EmailSent"].version == "2"
    assert load_releases(copied)[:-1] == RELEASES


def test_c49_a_new_version_reads_old_records_and_old_code_reads_new_ones(copied: Path) -> None:
    change(copied, name="language", type=["null", "string"], default=None)
    release_new(copied)
    new = Schemas.load(copied)
    v1 = next(one for one in RELEASES if one.subject == "shop.email.EmailSent")
    new_codec = Codec(new, writer_schemas={v1.id: v1.schema})
    old_codec = Codec(
        SCHEMAS, writer_schemas={new["EmailSent"].id: json.loads(new["EmailSent"].text)}
    )
    from_v1 = Codec(SCHEMAS).encode("EmailSent", {"kind": "k"})
    from_v2 = new_codec.encode("EmailSent", {"kind": "k", "language": "de"})

    assert new_codec.decode("EmailSent", from_v1) == {"kind": "k", "language": None}
    assert old_codec.decode("EmailSent", from_v2) == {"kind": "k"}


def test_c54_a_version_that_breaks_any_earlier_one_is_refused(copied: Path) -> None:
    change(copied, name="language", type="string", default="en")
    release_new(copied)
    lock = (copied / LOCK_NAME).read_text()
    path = copied / "email" / "EmailSent.avsc"
    path.write_text(path.read_text().replace(', "default": "en"', ""))

    # Version 2 wrote the field, version 1 did not.
    with pytest.raises(Incompatible, match="version 1"):
        release_new(copied)
    assert (copied / LOCK_NAME).read_text() == lock


def test_a_lock_that_disagrees_with_its_records_is_refused(copied: Path) -> None:
    lock = copied / LOCK_NAME
    lock.write_text(lock.read_text().replace("1003 ", "1099 "))
    with pytest.raises(LockBroken, match="EmailSent"):
        load_releases(copied)
