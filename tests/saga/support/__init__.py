"""What the saga tests share: a customer's view, an operator's view, and a hand on topics."""
