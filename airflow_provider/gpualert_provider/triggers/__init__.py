"""The trigger of this provider."""
