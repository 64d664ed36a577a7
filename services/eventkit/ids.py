"""Ids that a rerun repeats: a message that is handled again produces the same ids again."""

from uuid import UUID, uuid5

NAMESPACE = UUID("6f1d0c52-3d0b-5b8e-9a6e-0b4f8c1d2e70")


def derived(service: str, cause: UUID, what: str, index: int = 0) -> UUID:
    """The id of the ``index``-th ``what`` (event, job, result) that comes of ``cause``."""
    return uuid5(NAMESPACE, f"{service}:{cause}:{what}:{index}")
