"""The alert about a job: the node that sends it, agreed by claims in the store."""
