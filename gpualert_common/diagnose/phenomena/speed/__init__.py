"""Speed of a training: settings, load of the GPUs, and time spent in saving."""
