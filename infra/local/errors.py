"""The one exception a person sees: what went wrong and what to do about it."""


class StackError(Exception):
    """A problem of the embedded stack that its user can act on.

    ``next_step`` is a sentence that begins with a verb.
    """

    def __init__(self, problem: str, next_step: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.next_step = next_step
