"""Kafka's default partitioner: where a key belongs."""

MASK = 0xFFFFFFFF
MULTIPLIER = 0x5BD1E995
SEED = 0x9747B28C


def murmur2(data: bytes) -> int:
    """The 32-bit murmur2 hash as the Java client computes it, unsigned."""
    length = len(data)
    h = SEED ^ length
    whole = length - length % 4
    for at in range(0, whole, 4):
        k = int.from_bytes(data[at : at + 4], "little") * MULTIPLIER & MASK
        k = (k ^ k >> 24) * MULTIPLIER & MASK
        h = (h * MULTIPLIER & MASK) ^ k
    if rest := data[whole:]:
        h = (h ^ int.from_bytes(rest, "little")) * MULTIPLIER & MASK
    h = (h ^ h >> 13) * MULTIPLIER & MASK
    return h ^ h >> 15


def partition_of(key: bytes, partitions: int) -> int:
    """The partition a key lands in on a topic of that many partitions."""
    return (murmur2(key) & 0x7FFFFFFF) % partitions
