"""Clean: delete file slices that no reader needs any more."""
