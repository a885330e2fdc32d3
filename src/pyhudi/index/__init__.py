"""From keys to where they are."""
