"""The habits that keep every order whole, each of which a planted bug gives up."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Habits:
    """How the services go about their work; all true is how they do."""

    acknowledges_after_commit: bool = True
    keeps_inbox: bool = True
    parks_behind_dead_letters: bool = True
    stores_events_with_states: bool = True
    stores_jobs_with_states: bool = True
    fences_results: bool = True
