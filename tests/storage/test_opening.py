"""From an address to a store."""

import subprocess
import sys
import textwrap


def test_only_local_tables_need_a_posix_system():
    script = """
        import sys

        sys.modules["fcntl"] = None

        import pyhudi.cli.main
        import pyhudi.table
        from pyhudi.errors import Environment
        from pyhudi.storage.opening import open_storage

        options = {"aws_access_key_id": "none", "aws_secret_access_key": "none", "aws_region": "us-east-1"}
        print(open_storage("memory://trips").url, open_storage("s3://bucket/trips", options).url)
        try:
            open_storage("/tmp/trips")
        except Environment as error:
            print(error)
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert printed[0] == "memory://trips s3://bucket/trips"
    assert "need a POSIX system" in printed[1]
