"""The task decorators of this provider."""
