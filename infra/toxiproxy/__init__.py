"""Toxiproxy in front of what the services talk to, so that their connections can be disturbed."""
