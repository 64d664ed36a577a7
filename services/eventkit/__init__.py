"""The one shared library: everything technical that all services need, and no business word."""
