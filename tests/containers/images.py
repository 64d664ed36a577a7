"""Makes the stand-ins for the official images, on an engine of the tests' own.

They have the official names, so that docker-compose.yml and the Dockerfile are used as they are,
and a label that says what they are. A person's engine never gets them: it pulls.
"""

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from infra.jaeger import binary
from infra.local import fetch, layout
from infra.local.layout import ROOT
from infra.prometheus.programs import find_or_fetch
from tests.containers.engine import Engine

STAND_INS = {
    "python": "python:3.11-slim",
    "kafka": "apache/kafka:4.3.1",
    "registry": "apicurio/apicurio-registry:3.3.3",
    "postgres": "postgres:18.6",
    "jaeger": "jaegertracing/jaeger:2.13.0",
    "prometheus": "prom/prometheus:v2.53.4",
    "mailpit": "axllent/mailpit:v1.31.2",
}
"""A stage of standins/Dockerfile -> the image it stands for."""
LABEL = "order-saga.stand-in"
HERE = Path(__file__).parent / "standins"
BASE = "standin-base"
PACKAGES = ("ca-certificates", "python3", "python3-pip", "python3-venv", "busybox")
AUTHORITIES = Path("/etc/ssl/certs/ca-certificates.crt")
PINS = ("requirements.lock", "infra/jars.lock", "infra/jaeger/module/go.sum")


def ensure(engine: Engine) -> None:
    """Build what is missing or was made from other pins."""
    wanted = _digest()
    if all(_made_from(engine, image) == wanted for image in STAND_INS.values()):
        return
    _ensure_base(engine)
    with tempfile.TemporaryDirectory(dir=layout.load().cache, prefix="standins-") as folder:
        context = Path(folder)
        _fill(context)
        for stage, image in STAND_INS.items():
            engine.docker(
                "build", "--quiet", f"--target={stage}", f"--tag={image}",
                f"--label={LABEL}.pins={wanted}", str(context),
            )  # fmt: skip


def _digest() -> str:
    files = [ROOT / name for name in PINS] + _standins()
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]


def _made_from(engine: Engine, image: str) -> str:
    template = f'{{{{index .Config.Labels "{LABEL}.pins"}}}}'
    return engine.docker("image", "inspect", "--format", template, image, check=False)


def _ensure_base(engine: Engine) -> None:
    """A small Debian, from apt; kept as a file for the next engine of this cache."""
    if engine.docker("images", "--quiet", BASE):
        return
    tar = layout.load().cache / "standin-base.tar"
    if not tar.exists():
        draft = tar.with_suffix(".part.tar")
        subprocess.run(
            ["mmdebstrap", "--quiet", "--variant=minbase", f"--include={','.join(PACKAGES)}",
             "bookworm", str(draft)], check=True,
        )  # fmt: skip
        draft.replace(tar)
    engine.docker("import", str(tar), BASE)


def _standins() -> list[Path]:
    return sorted(file for file in HERE.iterdir() if file.is_file())


def _fill(context: Path) -> None:
    for file in _standins():
        shutil.copy(file, context)
    for name in ("pyproject.toml", "requirements.lock"):
        shutil.copy(ROOT / name, context)
    shutil.copy(AUTHORITIES, context)
    cache = layout.load().cache
    jars = fetch.ensure(cache, lambda _: None)
    for name, folder in (("kafka", jars.kafka_libs), ("registry", jars.registry)):
        shutil.copytree(folder, context / name, copy_function=_link)
    _link(str(binary.find_or_build(cache)), str(context / "jaeger"))
    _link(str(find_or_fetch(cache).prometheus), str(context / "prometheus"))


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy(source, target)
