"""Run the payment provider: ``python -m infra.fakes.payment_provider``."""

from infra.fakes.payment_provider.app import NAME, create_app
from infra.fakes.payment_provider.settings import ProviderSettings
from infra.fakes.serving import serve
from services.eventkit.settings import load


def main() -> None:
    """Serve with the settings from the environment until told to stop."""
    settings = load(ProviderSettings)
    serve(NAME, create_app(settings), settings)


if __name__ == "__main__":
    main()
