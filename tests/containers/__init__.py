"""The system in containers: an engine and images where there are none, and tests of the whole."""
