"""What happened, in which order."""
