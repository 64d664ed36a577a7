"""Settings of the mail sink."""

from infra.fakes.serving import FakeSettings


class SinkSettings(FakeSettings):
    """``http_host`` is the host of both ports."""

    smtp_port: int
