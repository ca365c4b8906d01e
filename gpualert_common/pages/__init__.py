"""Pages: a run as one self-contained HTML file, without scripts."""
