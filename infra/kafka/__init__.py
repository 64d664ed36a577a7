"""The broker: its configuration and the topics that must exist before anything starts."""
