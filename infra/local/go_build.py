"""Builds a program from its pinned Go module, politely: low priority, leaving no caches."""

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

from infra.local.account import die_with_parent
from infra.local.errors import StackError


def build(module: Path, package: str, folder: Path, report: Callable[[str], None]) -> Path:
    """Builds ``package`` in ``folder``, which can be deleted afterwards; the binary's path.

    ``module`` holds a go.mod that names the package as a tool, and a go.sum with the checksums of
    everything it needs. ``report`` gets the phase. Raises `StackError` with the compiler's last
    word.
    """
    go = _toolchain()
    copy = shutil.copytree(module, folder / "module")
    report("downloading modules")
    # Listing the packages of a build is what fetches their modules, and only theirs.
    _run(go, copy, "list", "-deps", "-f", "{{.Name}}", package)
    report("compiling")
    binary = folder / "binary"
    _run(go, copy, "build", "-trimpath", "-ldflags=-s -w", "-o", str(binary), package)
    return binary


def _toolchain() -> str:
    beside_python = Path(sysconfig.get_path("scripts")) / "go"
    found = str(beside_python) if beside_python.exists() else shutil.which("go")
    if found is None:
        raise StackError("there is no Go toolchain to build it with", "Install Go or the binary.")
    return found


def _run(go: str, module: Path, *arguments: str) -> None:
    environment = {
        **os.environ,
        "GOTOOLCHAIN": "local",
        "GOPATH": str(module.parent / "gopath"),
        "GOCACHE": str(module.parent / "gocache"),
        "GOFLAGS": "-mod=readonly -modcacherw -buildvcs=false",
        "GOWORK": "off",
        "CGO_ENABLED": "0",
    }
    polite = [*die_with_parent("TERM"), "nice", "-n", "19"]
    command = [*polite, go, *arguments]
    with subprocess.Popen(
        command,
        cwd=module,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        last = _pass_on(process)
    if process.returncode:
        raise StackError(
            f"{last or 'the Go toolchain failed'} (go {arguments[0]})",
            "Read what the Go toolchain said above.",
        )


def _pass_on(process: "subprocess.Popen[str]") -> str:
    last = ""
    try:
        for line in process.stderr or ():
            sys.stderr.write(line)
            last = line.strip() or last
    except BaseException:
        process.terminate()
        raise
    return last
