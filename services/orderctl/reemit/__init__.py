"""Publishing outbox rows again, as the relay does; the inboxes of readers make it harmless."""
