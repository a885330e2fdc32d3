"""Names of data files, as writers make them."""


def base_file_name(file_id: str, token: str, instant: str, extension: str = ".parquet") -> str:
    """Format a base file's name."""
    return f"{file_id}_{token}_{instant}{extension}"


def log_file_name(file_id: str, instant: str, version: int, token: str = "", suffix: str = "") -> str:
    """Format a log file's name; without a token as old writers did."""
    return f".{file_id}_{instant}.log.{version}{'_' + token if token else ''}{suffix}"
