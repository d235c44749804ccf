"""Side by side with other engines. `python -m benchmarks.run`; README.md tells how to read and how to extend it."""
