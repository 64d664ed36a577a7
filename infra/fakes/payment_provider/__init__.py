"""A payment provider to test against: charges, voids, refunds, and faults the token asks for."""
