"""The payment provider as this service sees it: five calls, and what each answer means.

Whatever a call raises: `Refused` means that no money moved and none will, `RetryLater` that the
outcome is unknown, `Postpone` that the provider never heard of it.
"""

from collections.abc import Container, Mapping
from typing import Any
from urllib.parse import quote

import httpx
from opentelemetry.instrumentation.httpx import HTTPXClientInstrumentor

from services.eventkit.jobs import Postpone, Refused, RetryLater

Answer = Mapping[str, Any]

ABOUT_THE_CHARGE = frozenset({400, 422})
ABOUT_THE_REFUND = frozenset({400, 404, 422})
"""Client errors that speak of what was asked. All others speak of who asks, of the way there or of
the moment (401, 403, 404, 409, 429): they are no answer about an order's money."""


class Provider:
    """A pool of connections to the provider; safe to share between threads."""

    def __init__(self, base_url: str, timeout: float) -> None:
        """``timeout`` is the longest wait for connecting and for an answer, each, in seconds."""
        self._client = httpx.Client(base_url=base_url, timeout=timeout)
        HTTPXClientInstrumentor.instrument_client(self._client)

    def charge(self, key: str, amount: int, currency: str, token: str, reference: str) -> Answer:
        """Make the charge of this key, or find it made: its ``status`` and ``reason``."""
        body = {"amount": amount, "currency": currency, "token": token, "reference": reference}
        return self._make("/charges", key, body, ABOUT_THE_CHARGE)

    def refund(self, key: str, charge_key: str, amount: int) -> Answer:
        """Pay back part of a charge, or find it paid back."""
        body = {"charge_key": charge_key, "amount": amount}
        return self._make("/refunds", key, body, ABOUT_THE_REFUND)

    def find_charge(self, key: str) -> Answer | None:
        """The charge of this key as it stands, or None where the provider has none."""
        return self._find(f"/charges/{_quoted(key)}")

    def find_refund(self, key: str) -> Answer | None:
        """The refund of this key as it stands, or None where the provider has none."""
        return self._find(f"/refunds/{_quoted(key)}")

    def void(self, key: str) -> Answer:
        """Stop the charge of this key, even one still to arrive, and say what became of it.

        Raises `RetryLater` for every answer that does not say so: money may have moved.
        """
        response = self._send("POST", f"/charges/{_quoted(key)}/void")
        if response.status_code == httpx.codes.OK:
            return _body(response)
        raise RetryLater(_described(response))

    def _make(self, path: str, key: str, body: Answer, final: Container[int]) -> Answer:
        response = self._send("POST", path, headers={"Idempotency-Key": key}, json=body)
        if response.is_success or response.status_code == httpx.codes.PAYMENT_REQUIRED:
            return _body(response)
        if response.status_code in final:
            raise Refused(f"provider_answered_{response.status_code}")
        raise RetryLater(_described(response))

    def _find(self, path: str) -> Answer | None:
        response = self._send("GET", path)
        if response.status_code == httpx.codes.NOT_FOUND:
            return None
        if response.is_success:
            return _body(response)
        raise RetryLater(_described(response))

    def _send(self, method: str, path: str, **content: Any) -> httpx.Response:
        try:
            return self._client.request(method, path, **content)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
            raise Postpone(f"{method} {path}: {error!r}") from error
        except httpx.TransportError as error:
            raise RetryLater(f"{method} {path}: {error!r}") from error


def _body(response: httpx.Response) -> Answer:
    try:
        body = response.json()
    except ValueError as error:
        raise RetryLater(f"{_described(response)}: not JSON") from error
    if not isinstance(body, dict) or not isinstance(body.get("status"), str):
        raise RetryLater(f"{_described(response)}: no status")
    return body


def _quoted(key: str) -> str:
    return quote(key, safe=":")


def _described(response: httpx.Response) -> str:
    request = response.request
    return f"{request.method} {request.url.path} answered {response.status_code}"
