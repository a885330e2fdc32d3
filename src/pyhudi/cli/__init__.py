"""The command line: commands are Table methods, nothing more."""
