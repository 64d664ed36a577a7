"""Settings of the mail sink."""

from infra.fakes.serving import FakeSettings


class SinkSettings(FakeSettings):
    """``http_host`` is the host of both ports.

    A copy of every mail it has accepted goes on to the mail server at ``forward_host``, if any.
    """

    smtp_port: int
    forward_host: str = ""
    forward_port: int = 25
