from infra.local.postgres import access_rules
from infra.names import EMITTERS, SERVICES


def _rules() -> dict[str, set[str]]:
    lines = [line.split() for line in access_rules().splitlines()]
    return {database: set(users.split(",")) for _, database, users, _, _ in lines}


def test_each_database_lets_in_its_own_service_and_nobody_elses() -> None:
    rules = _rules()
    for service in SERVICES:
        services_let_in = {user for user in rules[f"{service}_db"] if user.endswith("_svc")}
        assert services_let_in == {f"{service}_svc"}


def test_the_relay_reads_outboxes_only_and_never_copies_the_cluster() -> None:
    rules = _rules()
    assert {name for name, users in rules.items() if "debezium" in users} == {
        f"{service}_db" for service in EMITTERS
    }
    assert "replication" not in rules


def test_nobody_is_let_in_without_a_password_or_from_elsewhere() -> None:
    for line in access_rules().splitlines():
        assert line.endswith("127.0.0.1/32 scram-sha-256")
