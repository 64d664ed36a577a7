"""The Jaeger binary: JAEGER_BIN, else `jaeger` on PATH, else built from its Go module."""

from pathlib import Path

from infra.local.go_binary import GoBinary

JAEGER = GoBinary(
    name="jaeger",
    variable="JAEGER_BIN",
    command="jaeger",
    module=Path(__file__).parent / "module",
    package="github.com/jaegertracing/jaeger/cmd/jaeger",
)

find_or_build = JAEGER.find_or_build
status = JAEGER.status
report_failure = JAEGER.report_failure
