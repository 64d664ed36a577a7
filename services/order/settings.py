"""Settings of the order service."""

from services.eventkit.settings import ServiceSettings


class OrderSettings(ServiceSettings):
    """Besides the common ones: where a trace can be looked at."""

    jaeger_url: str = ""
    tenant_id: str = "demo"
