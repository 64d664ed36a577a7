"""The id that a broker's storage is given when it is formatted."""

import base64
import uuid


def new_cluster_id() -> str:
    """A random id that no command line takes for an option."""
    while (text := base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")).startswith(
        "-"
    ):
        pass
    return text
