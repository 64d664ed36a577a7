"""The front page of the API: where it is described, and where to begin."""

import json
from functools import cache
from typing import Any, Final

from fastapi import APIRouter
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field

from services.eventkit.http import OFTEN
from services.eventkit.schemas import SCHEMAS_DIR

OPENAPI_JSON: Final = "application/vnd.oai.openapi+json"
ASYNCAPI_JSON: Final = "application/vnd.aai.asyncapi+json"
_LINKS: Final = ", ".join(
    (
        f'</openapi.json>; rel="service-desc"; type="{OPENAPI_JSON}"',
        f'</asyncapi.json>; rel="service-desc"; type="{ASYNCAPI_JSON}"',
        '</docs>; rel="service-doc"; type="text/html"',
    )
)


class Front(BaseModel):
    """What there is."""

    name: str = "Order saga"
    docs: str = Field(default="/docs", description="The routes, to read and to try")
    openapi: str = Field(default="/openapi.json", description="The routes of this service")
    asyncapi: str = Field(default="/asyncapi.json", description="The events of all services")
    orders: str = Field(default="/orders", description="Where orders are placed")
    webhooks: str = Field(default="/webhooks", description="Who is told when an order ends")


def front_routes() -> APIRouter:
    """The routes, which are for everybody."""
    router = APIRouter(tags=["front page"], responses=OFTEN)
    linked = {"headers": {"Link": {"schema": {"type": "string"}, "description": "RFC 8631"}}}

    @router.get("/", responses={200: linked})
    def front(response: Response) -> Front:
        """The descriptions of the API and of the events, and where to begin."""
        response.headers["Link"] = _LINKS
        return Front()

    @router.get(
        "/asyncapi.json",
        response_class=JSONResponse,
        responses={200: {"content": {ASYNCAPI_JSON: {"schema": {"type": "object"}}}}},
    )
    def asyncapi() -> Response:
        """The topics and events of all services (AsyncAPI 3)."""
        return JSONResponse(_asyncapi(), media_type=ASYNCAPI_JSON)

    return router


@cache
def _asyncapi() -> Any:
    return json.loads((SCHEMAS_DIR / "asyncapi.json").read_text())
