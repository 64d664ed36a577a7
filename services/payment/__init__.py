"""Payments: charge an order's amount once, and void or refund it when the order is cancelled."""
