"""Orders that wait too long: which, for what, and why."""
