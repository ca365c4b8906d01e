"""Programs that really fail (and some that do not), and the runner that keeps what they wrote."""
