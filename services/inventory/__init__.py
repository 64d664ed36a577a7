"""Stock, and the reservations that hold it for orders."""
