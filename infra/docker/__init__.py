"""The system in containers: what is configured and set up before its services start."""
