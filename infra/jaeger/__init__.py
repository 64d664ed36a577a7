"""Jaeger: its configuration, and a binary of it on machines that have none."""
