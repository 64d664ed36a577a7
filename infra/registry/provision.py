"""Brings a schema registry to what ids.lock says: same schemas, same ids, whatever it held."""

from urllib.parse import quote, urlsplit

import requests
import tenacity
import typer

from infra.local.errors import StackError
from infra.registry.archive import COMPATIBILITY, archive
from infra.registry.releases import Release, load_releases
from services.eventkit.schemas import wire_form

_TIMEOUT_S = 10


def ensure(registry_url: str, wait_s: float = 60) -> str:
    """Waits for the registry, gives it what it lacks, checks every id; says what was done.

    ``registry_url`` is the Confluent-compatible API, such as
    ``http://127.0.0.1:21823/apis/ccompat/v7``. An empty registry imports the whole lock; any other
    registers what is new in the lock's order. Raises `StackError`.
    """
    url = registry_url.rstrip("/")
    subjects = _wait_until_ready(url, wait_s)
    releases = load_releases()
    if subjects:
        done = _register_missing(url, releases)
    else:
        _import(url, releases)
        done = f"imported {len(releases)} schemas with their ids"
    _set_compatibility(url)
    _check_ids(url, releases)
    return done


def _wait_until_ready(url: str, wait_s: float) -> list[str]:
    """The subjects there are, as soon as the registry says so."""
    polling = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(requests.RequestException),
        wait=tenacity.wait_fixed(0.3),
        stop=tenacity.stop_after_delay(wait_s),
        reraise=True,
    )
    try:
        return polling(_subjects, url)
    except requests.RequestException as error:
        raise StackError(
            f"the schema registry at {url} gave no answer in {wait_s:.0f} s: {error}",
            "Look at the registry's log.",
        ) from error


def _subjects(url: str) -> list[str]:
    answer = requests.get(f"{url}/subjects", timeout=_TIMEOUT_S)
    answer.raise_for_status()
    return list(answer.json())


def _import(url: str, releases: list[Release]) -> None:
    parts = urlsplit(url)
    answer = requests.post(
        f"{parts.scheme}://{parts.netloc}/apis/registry/v3/admin/import",
        data=archive(releases),
        headers={"Content-Type": "application/zip"},
        timeout=60,
    )
    if not answer.ok:
        raise _refused("the import of ids.lock", answer)


def _register_missing(url: str, releases: list[Release]) -> str:
    missing = [release for release in releases if _id_of(url, release) is None]
    for release in missing:
        answer = requests.post(
            f"{url}/subjects/{quote(release.subject)}/versions",
            json={"schema": wire_form(release.schema)},
            timeout=_TIMEOUT_S,
        )
        if not answer.ok:
            raise _refused(f"{release.subject} version {release.version}", answer)
    return f"registered {len(missing)} new schemas" if missing else "all schemas were there"


def _set_compatibility(url: str) -> None:
    current = requests.get(f"{url}/config", timeout=_TIMEOUT_S)
    if current.ok and current.json().get("compatibilityLevel") == COMPATIBILITY:
        return
    wanted = {"compatibility": COMPATIBILITY}
    answer = requests.put(f"{url}/config", json=wanted, timeout=_TIMEOUT_S)
    if not answer.ok:
        raise _refused(f"compatibility {COMPATIBILITY}", answer)


def _check_ids(url: str, releases: list[Release]) -> None:
    for release in releases:
        found = _id_of(url, release)
        if found != release.id:
            raise StackError(
                f"the registry has {release.subject} version {release.version} under id {found}, "
                f"ids.lock says {release.id}: records on the topics would be read wrongly",
                "Empty the registry's database (make purge) so that it is filled from ids.lock, "
                "or restore it from a backup.",
            )


def _id_of(url: str, release: Release) -> int | None:
    answer = requests.post(
        f"{url}/subjects/{quote(release.subject)}",
        json={"schema": wire_form(release.schema)},
        timeout=_TIMEOUT_S,
    )
    if answer.status_code == requests.codes.not_found:
        return None
    if not answer.ok:
        raise _refused(f"a look-up of {release.subject}", answer)
    return int(answer.json()["id"])


def _refused(what: str, answer: requests.Response) -> StackError:
    return StackError(
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
