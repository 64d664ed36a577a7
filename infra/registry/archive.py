"""The archive that gives schemas their ids: a registry numbers only what it does not know yet.

The registry imports the bare texts under the ids that the lock says. When a text is registered
afterwards, through the same door and rules as any other, it keeps the id it was imported with.
"""

import hashlib
import json
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from io import BytesIO

from infra.registry.releases import Release
from services.eventkit.schemas import wire_form

_MANIFEST = {"exportVersion": "3.0", "systemName": "order-saga", "systemVersion": "3.3.3"}


def archive(releases: Iterable[Release]) -> bytes:
    """A zip in the registry's own export format (3.0): the text and id of each release."""
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as zipped:
        zipped.writestr("manifest-ids-lock.Manifest.json", json.dumps(_MANIFEST))
        for release in releases:
            for name, text in _entries(release):
                zipped.writestr(name, text)
    return stream.getvalue()


def _entries(release: Release) -> Iterator[tuple[str, str]]:
    text = wire_form(release.schema)
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    meta: Mapping[str, str | int] = {
        "contentId": release.id,
        "contentHash": sha256,
        "canonicalHash": sha256,
        "contentType": "application/json",
    }
    yield f"content/{sha256}.Content.data", text
    yield f"content/{sha256}.Content.json", json.dumps(meta)
