"""Follows a load to its last ending, with a progress bar."""

import time

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from services.orderctl.console import err
from services.orderctl.load.observer import Observer
from services.orderctl.load.runner import Runner


def follow(runner: Runner, observer: Observer, timeout: float) -> None:
    """Return when every placed order has ended, or ``timeout`` seconds after the last was sent."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=err, transient=True) as progress:
        placed = progress.add_task("placed", total=None)
        ended = progress.add_task("ended", total=None)
        deadline = None
        while True:
            observer.wait(0.25)
            orders = list(runner.run.placed)
            done = sum(order.order_id in observer.endings for order in orders)
            total = None if runner.sending else len(orders)
            progress.update(placed, completed=len(orders), total=total)
            progress.update(ended, completed=done, total=len(orders))
            if observer.failure is not None:
                return
            if runner.sending:
                continue
            deadline = deadline or time.monotonic() + timeout
            if done == len(orders) or time.monotonic() > deadline:
                break
    runner.join()
