"""Who asks, and how often they may: the tenant of a request by its API key, and its rates."""

import math
import time
from collections.abc import Awaitable, Callable
from typing import Annotated, Final

import structlog
from fastapi import Depends, Request, Response
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from limits import RateLimitItemPerSecond
from limits.storage import MemoryStorage
from limits.strategies import SlidingWindowCounterRateLimiter
from prometheus_client import Counter

from services.eventkit import keyfile
from services.eventkit.http import Problem
from services.eventkit.keyfile import Allowance, ApiKey, KeyFile
from services.eventkit.settings import ProcessSettings

REFUSED: Final = Counter(
    "saga_requests_refused_total", "Requests that were refused to protect others", ["why"]
)

ORDERS, CANCELS, REQUESTS = "orders", "cancels", "requests"
"""What is counted apart: whoever places too much can still cancel and look."""

_BEARER = HTTPBearer(
    auto_error=False, description="An API key: `orderctl keys create TENANT` makes one."
)


class Access:
    """Knows the tenants. ``open_tenant`` is who a request without a key is; empty for nobody."""

    def __init__(
        self,
        keys: KeyFile,
        open_tenant: str = "",
        orders_per_second: int = 100,
        requests_per_second: int = 500,
    ) -> None:
        self._keys = keys
        self._open_tenant = open_tenant
        self._rates = {
            ORDERS: orders_per_second,
            CANCELS: requests_per_second,
            REQUESTS: requests_per_second,
        }
        self._limiter = SlidingWindowCounterRateLimiter(MemoryStorage())

    @classmethod
    def of(cls, settings: ProcessSettings) -> "Access":
        """As the settings say."""
        return cls(
            KeyFile(settings.keys_file),
            settings.open_tenant,
            settings.orders_per_second,
            settings.requests_per_second,
        )

    def tenant(self, key: str | None) -> str:
        """Whose request it is. Raises `Problem` 401 where nobody's."""
        if key is None and self._open_tenant:
            return self._open_tenant
        return self._known(key).tenant

    def operator(self, key: str | None) -> str:
        """Who operates. Raises `Problem` 401 for nobody, 403 for one who is only a tenant.

        Where tenants need no key, operators need none either.
        """
        if key is None and self._open_tenant:
            return self._open_tenant
        found = self._known(key)
        if not found.operator:
            raise Problem(403, "forbidden", "This needs an operator's key.")
        return found.tenant

    def _known(self, key: str | None) -> ApiKey:
        found = self._keys.keys().known(key, keyfile.now()) if key else None
        if found is None:
            detail = "The API key is not valid." if key else "An API key is needed."
            raise Problem(401, "unauthorized", detail, headers={"WWW-Authenticate": "Bearer"})
        return found

    def allowance(self, tenant_id: str) -> Allowance:
        """What is said of this tenant alone."""
        return self._keys.keys().tenants.get(tenant_id) or Allowance()

    def take(self, tenant_id: str, what: str) -> dict[str, str]:
        """Counts a request: the headers that say what is left. Raises `Problem` 429 at no more."""
        rate = self._rates[what]
        if what == ORDERS:
            rate = self.allowance(tenant_id).orders_per_second or rate
        item = RateLimitItemPerSecond(rate)
        taken = self._limiter.hit(item, what, tenant_id)
        stats = self._limiter.get_window_stats(item, what, tenant_id)
        wait = max(1, math.ceil(stats.reset_time - time.time()))
        left = max(0, stats.remaining) if taken else 0
        headers = {
            "RateLimit-Policy": f'"{what}";q={rate};w=1',
            "RateLimit": f'"{what}";r={left};t={wait}',
        }
        if taken:
            return headers
        REFUSED.labels("rate").inc()
        detail = f"More than {rate} requests in a second ({what})."
        raise Problem(429, "too-many-requests", detail, headers={**headers, "Retry-After": "1"})


def _asked_by(what: str) -> Callable[..., Awaitable[str]]:
    async def tenant(
        request: Request,
        response: Response,
        _: Annotated[HTTPAuthorizationCredentials | None, Depends(_BEARER)] = None,
    ) -> str:
        access: Access = request.app.state.access
        found = access.tenant(keyfile.bearer(request.headers))
        response.headers.update(access.take(found, what))
        structlog.contextvars.bind_contextvars(tenant=found)
        return found

    return tenant


Tenant = Annotated[str, Depends(_asked_by(REQUESTS))]
"""The tenant of a request, counted among its requests."""
OrderingTenant = Annotated[str, Depends(_asked_by(ORDERS))]
"""The same for a request that places an order."""
CancellingTenant = Annotated[str, Depends(_asked_by(CANCELS))]
"""The same for a request that undoes one."""


async def operator(
    request: Request,
    _: Annotated[HTTPAuthorizationCredentials | None, Depends(_BEARER)] = None,
) -> None:
    """Lets operators pass. Raises `Problem` 401 or 403."""
    access: Access = request.app.state.access
    structlog.contextvars.bind_contextvars(
        operator=access.operator(keyfile.bearer(request.headers))
    )
