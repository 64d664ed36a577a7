"""The invariants of the whole system: one pure check each, over data loaded once."""
