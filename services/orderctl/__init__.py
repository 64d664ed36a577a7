"""The command line: place orders, watch them, trace them, load the system, verify it."""
