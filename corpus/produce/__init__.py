"""Programs that really fail, some that succeed, and their runner."""
