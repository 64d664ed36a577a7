import pytest

from services.orderctl.murmur2 import murmur2, partition_of


@pytest.mark.parametrize(
    ("text", "signed"),
    [
        ("21", -973932308),
        ("foobar", -790332482),
        ("a-little-bit-long-string", -985981536),
        ("a-little-bit-longer-string", -1486304829),
        ("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        ("abc", 479470107),
    ],
)
def test_murmur2_gives_what_the_java_client_gives(text: str, signed: int) -> None:
    assert murmur2(text.encode()) == signed & 0xFFFFFFFF


def test_a_key_always_lands_in_one_partition_within_range() -> None:
    partitions = {partition_of(f"key-{n}".encode(), 6) for n in range(200)}
    assert partitions == set(range(6))
