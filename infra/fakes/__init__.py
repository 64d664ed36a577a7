"""Stand-ins for the outside world: real servers with a durable memory and faults on request."""
