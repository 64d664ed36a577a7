"""Consumer groups as a test sees and handles them."""

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from services.eventkit.positions import committed_offsets, event_places
from services.orderctl.errors import NOT_ANSWERING, CliError
from services.orderctl.groups import Group, read_groups
from services.orderctl.settings import Settings
from tests.saga.support.wait import until


def groups(settings: Settings, *names: str) -> list[Group]:
    """The groups as they are now; none while the broker does not answer."""
    try:
        return read_groups(settings.kafka_bootstrap, names)
    except CliError as error:
        if error.code != NOT_ANSWERING:
            raise
        return []


def caught_up(settings: Settings, *names: str) -> bool:
    """Whether every group has members and has read every topic of its own to the end."""
    found = groups(settings, *names)
    return len(found) == len(names) and all(
        group.members and group.lags and not group.events for group in found
    )


def forget(settings: Settings, *names: str) -> None:
    """Deletes groups that nobody is in, with all their offsets, as if they had never been."""
    admin = AdminClient({"bootstrap.servers": settings.kafka_bootstrap, "log_level": 0})
    until(lambda: _deleted(admin, names), f"{', '.join(names)} to be deleted")
    places = event_places(admin)
    assert not any(committed_offsets(settings.kafka_bootstrap, name, places) for name in names)


def _deleted(admin: AdminClient, names: tuple[str, ...]) -> bool:
    left = {group.group_id for group in admin.list_consumer_groups().result().valid}
    for answer in admin.delete_consumer_groups([n for n in names if n in left]).values():
        try:
            answer.result()
        except KafkaException:
            return False  # somebody has not left it yet
    return True
