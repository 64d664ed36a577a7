"""The schema registry: filled from the lock so that ids never change."""
