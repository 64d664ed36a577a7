"""The archive that an empty registry imports: the only way to give it ids of our choice."""

import hashlib
import json
import zipfile
from collections.abc import Iterable, Iterator
from io import BytesIO
from itertools import groupby
from typing import Any

from infra.registry.releases import Release
from services.eventkit.schemas import wire_form

COMPATIBILITY = "BACKWARD_TRANSITIVE"

_EPOCH_MS = 1_767_225_600_000  # any fixed moment, so that the same lock makes the same archive
_MANIFEST = {
    "systemVersion": "3.3.3",
    "systemName": "order-saga",
    "systemDescription": "Schemas with the ids of ids.lock",
    "exportVersion": "3.0",
    "exportedOn": _EPOCH_MS,
    "exportedBy": "",
    "dbVersion": "109",
}
_STAMPS = {"owner": "", "createdOn": _EPOCH_MS, "modifiedBy": "", "modifiedOn": _EPOCH_MS}


def archive(releases: Iterable[Release]) -> bytes:
    """A zip in the registry's own export format (3.0) with every release and the global rule."""
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, content in _entries(releases):
            text = content if isinstance(content, str) else json.dumps(content)
            zipped.writestr(zipfile.ZipInfo(name), text)
    return stream.getvalue()


def _entries(releases: Iterable[Release]) -> Iterator[tuple[str, Any]]:
    yield "manifest-ids-lock.Manifest.json", _MANIFEST
    rule = {"ruleType": "COMPATIBILITY", "configuration": COMPATIBILITY}
    yield "rules/COMPATIBILITY.GlobalRule.json", rule
    by_subject = sorted(releases, key=lambda release: (release.subject, release.version))
    for subject, versions in groupby(by_subject, key=lambda release: release.subject):
        yield from _subject(subject, list(versions))


def _subject(subject: str, versions: list[Release]) -> Iterator[tuple[str, Any]]:
    folder = f"groups/default/artifacts/{subject}"
    artifact = {"groupId": None, "artifactId": subject}
    yield f"{folder}/MetaData.Artifact.json", {**artifact, "artifactType": "AVRO", **_STAMPS}
    branch = {"branchId": "latest", "systemDefined": True}
    numbers = {"versions": [str(release.version) for release in versions]}
    yield f"{folder}/branches/latest.Branch.json", {**artifact, **branch, **_STAMPS, **numbers}
    for release in versions:
        yield from _content(release)
        number = {"version": str(release.version), "versionOrder": release.version}
        ids = {"globalId": release.id, "contentId": release.id, "state": "ENABLED"}
        path = f"{folder}/versions/{release.version}.ArtifactVersion.json"
        yield path, {**artifact, **number, **ids, **_STAMPS}


def _content(release: Release) -> Iterator[tuple[str, Any]]:
    text = wire_form(release.schema)
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    yield f"content/{sha256}.Content.data", text
    meta = {"contentId": release.id, "contentHash": sha256, "canonicalHash": sha256}
    yield f"content/{sha256}.Content.json", {**meta, "contentType": "application/json"}
