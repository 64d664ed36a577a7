"""Run the mail sink: ``python -m infra.fakes.mail_sink``."""

from infra.fakes.mail_sink.app import NAME, create_app
from infra.fakes.mail_sink.settings import SinkSettings
from infra.fakes.serving import serve
from services.eventkit.settings import load


def main() -> None:
    """Serve with the settings from the environment until told to stop."""
    settings = load(SinkSettings)
    serve(NAME, create_app(settings), settings)


if __name__ == "__main__":
    main()
