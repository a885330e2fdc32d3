"""Begin, check, publish."""
