"""Benchmarks: what is said in docs/performance.md, measured on the running stack."""
