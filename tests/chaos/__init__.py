"""Kill anything: orders at a steady rate while every process and connection is disturbed."""
