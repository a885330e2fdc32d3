"""An opened table as frozen values."""
