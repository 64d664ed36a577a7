"""The order service: places, confirms and cancels orders."""
