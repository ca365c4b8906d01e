"""The evidence sources, one module each, which defines ``SOURCE``; found by their file names."""
