"""Prometheus: what it scrapes, what it alerts on, and programs of it on machines that have none."""
