"""Mails to customers: one for each ending of an order, whatever is repeated."""
