"""Brings a schema registry to what ids.lock says: same schemas, same ids, whatever it held."""

from urllib.parse import quote, urlsplit

import requests
import tenacity
import typer

from infra.local.errors import StackError
from infra.registry.archive import archive
from infra.registry.releases import Release, load_releases
from services.eventkit.schemas import wire_form

COMPATIBILITY = "BACKWARD_TRANSITIVE"

_TIMEOUT_S = 30


def ensure(registry_url: str, wait_s: float = 60) -> str:
    """Waits for the registry, gives it what it lacks, checks every id; says what was done.

    ``registry_url`` is the Confluent-compatible API, such as
    ``http://127.0.0.1:21823/apis/ccompat/v7``. Raises `StackError`.
    """
    url = registry_url.rstrip("/")
    _wait_until_ready(url, wait_s)
    _set_compatibility(url)
    releases = load_releases()
    missing = [release for release in releases if id_of(url, release) is None]
    if missing:
        register(url, missing)
    for release in releases:
        _check_id(url, release)
    new = f", {len(missing)} new" if missing else ""
    return f"{len(releases)} schemas with their ids{new}"


def register(url: str, releases: list[Release]) -> None:
    """Registers versions under their own ids, oldest first; the compatibility rule holds.

    Raises `StackError` when the registry refuses one.
    """
    parts = urlsplit(url)
    answer = requests.post(
        f"{parts.scheme}://{parts.netloc}/apis/registry/v3/admin/import",
        params={"requireEmptyRegistry": "false"},
        headers={"Content-Type": "application/zip"},
        data=archive(releases),
        timeout=_TIMEOUT_S,
    )
    _require(answer, "the import of ids")
    for release in releases:
        answer = requests.post(
            f"{url}/subjects/{quote(release.subject)}/versions",
            json={"schema": wire_form(release.schema)},
            timeout=_TIMEOUT_S,
        )
        _require(answer, f"{release.subject} version {release.version}")


def id_of(url: str, release: Release) -> int | None:
    """The id the registry has for this very version; None if it does not know it."""
    answer = requests.post(
        f"{url}/subjects/{quote(release.subject)}",
        json={"schema": wire_form(release.schema)},
        timeout=_TIMEOUT_S,
    )
    if answer.status_code == requests.codes.not_found:
        return None
    _require(answer, f"a look-up of {release.subject}")
    return int(answer.json()["id"])


def _wait_until_ready(url: str, wait_s: float) -> None:
    polling = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(requests.RequestException),
        wait=tenacity.wait_fixed(0.3),
        stop=tenacity.stop_after_delay(wait_s),
        reraise=True,
    )
    try:
        polling(lambda: requests.get(f"{url}/subjects", timeout=_TIMEOUT_S).raise_for_status())
    except requests.RequestException as error:
        raise StackError(
            f"the schema registry at {url} gave no answer in {wait_s:.0f} s: {error}",
            "Look at the registry's log.",
        ) from error


def _set_compatibility(url: str) -> None:
    current = requests.get(f"{url}/config", timeout=_TIMEOUT_S)
    if current.ok and current.json().get("compatibilityLevel") == COMPATIBILITY:
        return
    wanted = {"compatibility": COMPATIBILITY}
    answer = requests.put(f"{url}/config", json=wanted, timeout=_TIMEOUT_S)
    _require(answer, f"compatibility {COMPATIBILITY}")


def _check_id(url: str, release: Release) -> None:
    found = id_of(url, release)
    if found != release.id:
        raise StackError(
            f"the registry has {release.subject} version {release.version} under id {found}, "
            f"ids.lock says {release.id}: records on the topics would be read wrongly",
            "Empty the registry's database so that it is filled from ids.lock, "
            "or restore it from a backup.",
        )


def _require(answer: requests.Response, what: str) -> None:
    if not answer.ok:
        raise StackError(
            f"the schema registry refused {what}: {answer.status_code} {answer.text[:300]}",
            "Look at the registry's log.",
        )


def main(url: str) -> None:
    """Fill the registry at URL, its Confluent-compatible API, from schemas/ids.lock.

    Example: python -m infra.registry.provision http://127.0.0.1:21823/apis/ccompat/v7
    """
    try:
        typer.echo(ensure(url))
    except StackError as error:
        typer.echo(f"{error.problem}\n{error.next_step}", err=True)
        raise typer.Exit(1) from error


if __name__ == "__main__":
    typer.run(main)
