"""Charts: the timeline of a run as data, and pictures of it (SVG, PNG)."""
