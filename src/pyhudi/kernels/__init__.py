"""Arrow to Arrow: pure, vectorised, never a loop over rows."""
