"""What each Java program is started with, wherever it runs."""

from pathlib import Path

from infra.wiring import Wiring

# Start fast and stay small: no second compiler, and a heap that gives back what it does not use.
JVM = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:MinHeapFreeRatio=10",
    "-XX:MaxHeapFreeRatio=30",
    "-Xss512k",
)


def broker(libs: Path, log4j: Path, properties: Path) -> tuple[str, ...]:
    """The arguments of ``java`` for the broker."""
    return (*JVM, "-Xms48m", "-Xmx96m", *_kafka(libs, log4j), "kafka.Kafka", str(properties))


def connect(libs: Path, log4j: Path, properties: Path) -> tuple[str, ...]:
    """The arguments of ``java`` for Kafka Connect."""
    main = "org.apache.kafka.connect.cli.ConnectDistributed"
    return (*JVM, "-Xms32m", "-Xmx160m", *_kafka(libs, log4j), main, str(properties))


def registry(wiring: Wiring, jar: Path, temporary: Path) -> tuple[str, ...]:
    """The arguments of ``java`` for the schema registry; its password is not among them."""
    settings = {**wiring.registry(), "java.io.tmpdir": temporary}
    options = [f"-D{name}={value}" for name, value in settings.items()]
    return (*JVM, "-Xms24m", "-Xmx64m", *options, "-jar", str(jar))


def format_storage(libs: Path, properties: Path, cluster: str) -> tuple[str, ...]:
    """The arguments of ``java`` that give the broker an empty storage."""
    return (
        "-XX:TieredStopAtLevel=1", "-cp", f"{libs}/*",
        "kafka.tools.StorageTool", "format", "--standalone", "--ignore-formatted",
        "--cluster-id", cluster, "--config", str(properties),
    )  # fmt: skip


def _kafka(libs: Path, log4j: Path) -> tuple[str, ...]:
    return (f"-Dlog4j2.configurationFile={log4j}", "-cp", f"{libs}/*")
