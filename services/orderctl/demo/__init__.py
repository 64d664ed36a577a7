"""The demo: every ending once and more, shown, checked and explained."""
