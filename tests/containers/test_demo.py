"""The demo and the checks of `orderctl verify`, from the machine and from a container."""

import httpx

from tests.containers.stack import ContainerStack
from tests.saga.support.orderctl import orderctl
from tests.saga.support.saga import Saga
from tests.saga.support.wait import until


def test_the_demo_ends_with_every_check_in_order(stack: ContainerStack) -> None:
    done = orderctl("demo", seconds=400)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "checks ok" in done.stdout


def test_orderctl_in_a_container_sees_the_same(stack: ContainerStack) -> None:
    assert "checks ok" in stack.compose("run", "--rm", "--no-TTY", "orderctl", "verify")


def test_a_copy_of_every_mail_that_arrived_is_on_mailpits_page(
    stack: ContainerStack, saga: Saga
) -> None:
    order_id = saga.place()
    until(lambda: saga.mails(order_id), "a mail")

    def copied() -> bool:
        arrived = saga.shop.mail.call("GET", "/messages", params={"limit": 1})["total"]
        page = httpx.get(f"{stack.url('mailpit')}/api/v1/messages", timeout=10).json()
        return bool(page["total"] == arrived)

    until(copied, "as many mails on the page as arrived")
