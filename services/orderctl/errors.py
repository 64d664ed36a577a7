"""What a command says when it cannot go on."""

NOT_ANSWERING = 3
"""The exit code where a part of the system does not answer."""


class CliError(Exception):
    """A failure the reader can act on: what is wrong, what to do next, and the exit code.

    ``retry_after`` is in how many seconds the same may be tried again, where a service said so.
    """

    def __init__(
        self,
        message: str,
        next_step: str = "",
        code: int = 1,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.next_step = next_step
        self.code = code
        self.retry_after = retry_after
