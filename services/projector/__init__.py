"""The read model: a view and a timeline of every order, built from the events of all services."""
