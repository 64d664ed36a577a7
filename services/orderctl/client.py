"""HTTP calls to the services, with errors a person can act on."""

from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

import httpx

from services.orderctl.errors import NOT_ANSWERING, CliError
from services.orderctl.settings import Settings

TIMEOUT = httpx.Timeout(10.0, connect=2.0)


class Http:
    """One service's API; safe to share between threads."""

    def __init__(self, name: str, base_url: str, connections: int = 20, api_key: str = "") -> None:
        self.name = name
        self.base_url = base_url.rstrip("/")
        # Shorter than the servers' 5 s, or a request may meet a connection that is just closing.
        limits = httpx.Limits(
            max_connections=connections,
            max_keepalive_connections=connections,
            keepalive_expiry=2.0,
        )
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._client = httpx.Client(
            base_url=self.base_url, timeout=TIMEOUT, limits=limits, headers=headers
        )

    def send(self, method: str, path: str, **options: Any) -> httpx.Response:
        """The response, whatever its status; CliError when nothing answers."""
        try:
            return self._client.request(method, path, **options)
        except httpx.TransportError as error:
            raise CliError(
                f"{self.name} does not answer at {self.base_url} ({type(error).__name__})",
                "run make status to see what is down, make up to start it",
                code=NOT_ANSWERING,
            ) from error

    def call(self, method: str, path: str, **options: Any) -> Any:
        """The JSON of a successful answer; CliError with the problem's details otherwise."""
        return self.read(self.send(method, path, **options))

    def read(self, response: httpx.Response) -> Any:
        """The JSON of a successful answer; CliError with the problem's details otherwise."""
        if response.is_success:
            return response.json() if response.content else None
        raise CliError(
            f"{self.name} answered {response.status_code}: {problem_text(response)}",
            retry_after=_seconds(response.headers.get("Retry-After")),
        )

    def download(self, path: str, target: BinaryIO) -> int:
        """Writes an answer's content while it arrives; its bytes. CliError where it breaks off."""
        size = 0
        try:
            with self._client.stream("GET", path) as response:
                if not response.is_success:
                    response.read()
                    self.read(response)
                for piece in response.iter_bytes():
                    size += target.write(piece)
        except httpx.TransportError as error:
            raise CliError(
                f"{self.name} broke off after {size} bytes ({type(error).__name__})",
                "try again",
                code=NOT_ANSWERING,
            ) from error
        return size

    def find(self, path: str, **options: Any) -> Any | None:
        """The JSON of what is there, or None when there is no such thing (404)."""
        response = self.send("GET", path, **options)
        if response.status_code == httpx.codes.NOT_FOUND:
            return None
        if response.is_success:
            return response.json()
        raise CliError(f"{self.name} answered {response.status_code}: {problem_text(response)}")


def _seconds(retry_after: str | None) -> float | None:
    return float(retry_after) if retry_after and retry_after.isdecimal() else None


def problem_text(response: httpx.Response) -> str:
    """What a problem-details answer says, fields included; its bare text when it is none."""
    try:
        problem = response.json()
    except ValueError:
        return response.text[:200] or response.reason_phrase
    if not isinstance(problem, dict):
        return str(problem)[:200]
    parts = [str(problem.get("detail") or problem.get("title") or "no detail given")]
    parts += [f"{e.get('field')}: {e.get('message')}" for e in problem.get("errors") or ()]
    return "; ".join(parts)


class Shop:
    """Every HTTP API of the running stack, by what one wants from it."""

    def __init__(self, settings: Settings, connections: int = 20) -> None:
        key = settings.api_key
        self.orders = Http("order", settings.order_url, connections, key)
        self.inventory = Http("inventory", settings.inventory_url, api_key=key)
        self.payment = Http("payment", settings.payment_url, api_key=key)
        self.email = Http("email", settings.email_url, api_key=key)
        self.analytics = Http("analytics", settings.analytics_url, api_key=key)
        self.projector = Http("projector", settings.projector_url, api_key=key)
        self.provider = Http("payment-provider", settings.provider_url)
        self.mail = Http("mail-sink", settings.mail_url)
        self.jaeger = Http("jaeger", settings.jaeger_url)

    def place(self, body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Any:
        """Place an order; the answer names its id and where to follow it."""
        return self.orders.call("POST", "/orders", json=body, headers=headers)

    def order(self, order_id: str) -> Any:
        """An order as its own service knows it; CliError when there is none."""
        if (found := self.orders.find(f"/orders/{order_id}")) is None:
            raise CliError(f"there is no order {order_id}", "orderctl place shows the id it got")
        return found

    def cancel(self, order_id: str) -> httpx.Response:
        """Ask for cancellation: 202 accepted, 409 when the order is already final."""
        return self.orders.send("DELETE", f"/orders/{order_id}")

    def view(self, order_id: str) -> Any | None:
        """The order in the read model, with its timeline; None before it got there."""
        return self.projector.find(f"/orders/{order_id}")

    def receive_stock(self, quantities: Mapping[str, int]) -> None:
        """Book the arrival of goods."""
        lines = [{"sku": sku, "quantity": quantity} for sku, quantity in quantities.items()]
        self.inventory.call("POST", "/stock/receipts", json={"lines": lines})

    def put_contact(self, customer_id: str, name: str, address: str) -> None:
        """Tell the email service where a customer's mails go."""
        body = {"name": name, "address": address}
        self.email.call("PUT", f"/contacts/{customer_id}", json=body)

    def charge_status(self, order_id: str) -> str | None:
        """What the payment provider knows of the order's charge; None before it was asked."""
        charge = self.provider.find(f"/charges/payment:{order_id}")
        return None if charge is None else str(charge["status"])


def pages(http: Http, path: str, name: str, step: int = 1000) -> Sequence[Any]:
    """All items of a list that is read page by page, ``step`` at a time."""
    found: list[Any] = []
    after = 0
    while True:
        page = http.call("GET", path, params={"limit": step, "after": after})
        found.extend(page[name])
        after = page["next_after"]
        if after is None:
            return found
