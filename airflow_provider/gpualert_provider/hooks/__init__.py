"""The hook of the connections that this provider brings."""
