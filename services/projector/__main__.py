"""The projector's two processes: ``python -m services.projector agent`` and ``... api``."""

import sys


def main() -> int:
    """Runs the process that the one argument names; returns its exit code."""
    if sys.argv[1:] == ["agent"]:
        from services.projector import process

        return process.main()
    if sys.argv[1:] == ["api"]:
        from services.projector import serve

        return serve.main()
    print(__doc__, file=sys.stderr)  # noqa: T201
    return 2


if __name__ == "__main__":
    sys.exit(main())
