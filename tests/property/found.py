"""Histories that the machine has found bugs with, told again by hand, one move a line."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.property.model.outside import OK, REFUND_FAILS, UNREADABLE, Fault
from tests.property.model.progress import due
from tests.property.model.world import EVERYTHING, World


@dataclass(frozen=True, slots=True)
class Found:
    """A history, and the planted bugs that it brings to light."""

    play: Callable[[World], None]
    flaws: tuple[str, ...]

    @property
    def name(self) -> str:
        """What the history and its golden file are called."""
        return self.play.__name__


def cancel_overtakes_the_reservation(world: World) -> None:
    """Payment hears of the cancel before the reservation that it cancels."""
    world.place({"mug": 1}, OK)
    _pass_on(world, "order", to="inventory")
    world.cancel(world.orders[0])
    _pass_on(world, "order", to="payment")
    _pass_on(world, "inventory", to="payment")


def placement_comes_after_its_cancel(world: World) -> None:
    """The placement was written before the relay had a slot, and is published much later."""
    world.lose_slot("order", missed=1)
    world.place({"mug": 1}, OK)
    world.cancel(world.orders[0])
    _pass_on(world, "order", to="inventory")


def void_finds_the_charge_captured(world: World) -> None:
    """The order is cancelled while nobody knows that the charge was made."""
    _reserve(world)
    world.disturb("payment", [Fault.LOST_ANSWER])
    world.work(*due(world)[0])
    world.cancel(world.orders[0])
    _pass_on(world, "order", to="payment")
    world.work(*due(world)[0])


def answer_to_the_charge_is_lost(world: World) -> None:
    """The money was taken, and the provider's answer never came."""
    _reserve(world)
    world.disturb("payment", [Fault.LOST_ANSWER])
    world.work(*due(world)[0])


def refund_is_given_up_though_it_was_paid(world: World) -> None:
    """Neither the refund nor the question for it was answered: a person is needed."""
    _capture_then_cancel(world)
    world.disturb("payment", [Fault.LOST_ANSWER] * 2)
    world.work(*due(world)[0])
    world.work(*due(world)[0])


def capture_overtakes_the_decline_before_it(world: World) -> None:
    """A declined charge is started over and captured; the decline is published much later."""
    world.lose_slot("payment", missed=1)
    _reserve(world, token=UNREADABLE)
    name, charge = due(world)[0]
    world.work(name, charge)
    world.mend_provider()
    world.redrive_job(name, world.services[name].database.jobs[charge.id])
    world.work(*due(world)[0])
    _pass_on(world, "payment", to="order")


def failed_refund_overtakes_all_that_led_to_it(world: World) -> None:
    """A charge is declined, started over, captured and not refunded; only the last is heard of."""
    world.lose_slot("payment", missed=2)
    _reserve(world, token=UNREADABLE)
    name, charge = due(world)[0]
    world.work(name, charge)
    world.mend_provider()
    world.redrive_job(name, world.services[name].database.jobs[charge.id])
    world.work(*due(world)[0])
    world.disturb(name, [Fault.LOST_REQUEST] * 2)
    world.work(*due(world)[0])
    world.work(*due(world)[0])
    _pass_on(world, "payment", to="order")


def earlier_refund_is_refused_again(world: World) -> None:
    """A second refund is paid, unheard, while a person has the job of the first one start over."""
    _capture_then_cancel(world, token=REFUND_FAILS)
    name, first = due(world)[0]
    world.work(name, first)
    world.mend_provider()
    world.retry_refund(world.orders[0])
    world.disturb(name, [Fault.LOST_ANSWER] * 2)
    world.work(*due(world)[0])
    (dead,) = due(world)
    world.redrive_job(name, world.services[name].database.jobs[first.id])
    world.lines[name].faults.clear()
    world.work(name, world.services[name].database.jobs[first.id])
    world.disturb(name, [Fault.LOST_ANSWER])
    world.work(*dead)


def capture_is_repeated_after_the_refund(world: World) -> None:
    """All is over, and the capture is heard once more, under a new message id."""
    _capture_then_cancel(world)
    world.work(*due(world)[0])
    _pass_on(world, "payment", to="order")
    for reader in ("analytics", "projector"):
        world.consume(reader, EVERYTHING)
    world.repeat(world.services["payment"].database.outbox[0])


def cancel_is_repeated(world: World) -> None:
    """The cancel is heard once more, under a new message id."""
    _reserve(world)
    world.cancel(world.orders[0])
    _pass_on(world, "order", to="inventory")
    world.repeat(world.services["order"].database.outbox[-1])


def confirmation_is_repeated(world: World) -> None:
    """The confirmation is heard once more, under a new message id."""
    _reserve(world)
    world.work(*due(world)[0])
    _pass_on(world, "payment", to="order")
    _pass_on(world, "order", to="email")
    world.repeat(world.services["order"].database.outbox[-1])


def services_die_before_they_acknowledge(world: World) -> None:
    """Inventory and payment are killed between the commit and the commit of their offsets."""
    world.place({"mug": 1}, OK)
    world.relay("order")
    world.consume("inventory", EVERYTHING, crash_at=1)
    world.relay("inventory")
    world.consume("payment", EVERYTHING, crash_at=1)


def rule_fails_and_is_mended(world: World) -> None:
    """The order's rules fail on its reservation; they are mended before its release comes."""
    world.place({"mug": 1}, OK)
    _pass_on(world, "order", to="inventory")
    world.break_rules("order", world.orders[0])
    _pass_on(world, "inventory", to="order")
    world.mend_rules("order")
    world.cancel(world.orders[0])
    _pass_on(world, "order", to="inventory")
    _pass_on(world, "inventory", to="order")


def lease_runs_out_during_a_call(world: World) -> None:
    """Two workers hold one charge; the first one's result comes last."""
    _reserve(world)
    name, job = due(world)[0]
    first = world.claim(name, job)
    world.call(name, first)
    world.end_lease(name, first.job)
    second = world.claim(*due(world)[0])
    world.call(name, second)
    world.store(name, second)
    world.store(name, first)


def job_is_redriven_while_an_old_call_hangs(world: World) -> None:
    """A worker's call hangs while its job ends elsewhere, is redriven, and is claimed again."""
    _reserve(world, token=UNREADABLE)
    name, job = due(world)[0]
    hangs = world.claim(name, job)
    world.call(name, hangs)
    world.end_lease(name, hangs.job)
    world.work(*due(world)[0])
    world.redrive_job(name, world.services[name].database.jobs[job.id])
    world.claim(*due(world)[0])
    world.store(name, hangs)


FOUND = (
    Found(cancel_overtakes_the_reservation, ("no_tombstone_in_payment",)),
    Found(placement_comes_after_its_cancel, ("no_tombstone_in_stock",)),
    Found(void_finds_the_charge_captured, ("late_capture_kept",)),
    Found(answer_to_the_charge_is_lost, ("charge_under_new_keys", "silence_is_a_decline")),
    Found(refund_is_given_up_though_it_was_paid, ("refund_under_new_keys",)),
    Found(capture_overtakes_the_decline_before_it, ()),
    Found(failed_refund_overtakes_all_that_led_to_it, ()),
    Found(earlier_refund_is_refused_again, ()),
    Found(
        capture_is_repeated_after_the_refund,
        ("late_capture_revives", "no_version_guard_in_figures", "no_version_guard_in_views"),
    ),
    Found(cancel_is_repeated, ("stock_released_again",)),
    Found(confirmation_is_repeated, ("mail_for_each_repeat",)),
    Found(
        services_die_before_they_acknowledge,
        ("ack_before_commit", "no_inbox", "events_apart_from_states", "jobs_apart_from_states"),
    ),
    Found(rule_fails_and_is_mended, ("nothing_parked",)),
    Found(job_is_redriven_while_an_old_call_hangs, ("results_not_fenced",)),
    Found(lease_runs_out_during_a_call, ("results_not_fenced",)),
)


def _pass_on(world: World, sender: str, *, to: str) -> None:
    world.relay(sender)
    world.consume(to, EVERYTHING)


def _reserve(world: World, token: str = OK) -> None:
    world.place({"mug": 1}, token)
    _pass_on(world, "order", to="inventory")
    _pass_on(world, "inventory", to="payment")


def _capture_then_cancel(world: World, token: str = OK) -> None:
    _reserve(world, token)
    world.work(*due(world)[0])
    world.cancel(world.orders[0])
    _pass_on(world, "order", to="payment")
