"""Figures about all orders: one row per order, kept right whatever order the events come in."""
