"""Servers with two processes each: a revoked token is refused by both within a second."""

import contextlib
import http.client
import json
import os
import socket
import subprocess
import sys
import time
import unittest
from pathlib import Path

from issuer import Issuer, until

DIRECTORY = Path(__file__).parent
TOKENS = 30


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


class ProcessesTest(unittest.TestCase):
    def check(self, framework, command):
        issuer = Issuer()
        self.addCleanup(issuer.close)
        port = free_port()
        environ = {**os.environ, "ISSUER": issuer.url, "FRAMEWORK": framework, "PYTHONPATH": str(DIRECTORY)}
        arguments = [part.format(port=port) for part in command]
        server = subprocess.Popen([sys.executable, "-m", *arguments], env=environ, cwd=DIRECTORY)
        self.addCleanup(server.wait, 10)
        self.addCleanup(server.terminate)

        def get(token):
            # A connection each, so that both processes get requests.
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
            with contextlib.closing(connection):
                connection.request("GET", "/notes", headers={"authorization": f"Bearer {token}"})
                response = connection.getresponse()
                return response.status, json.loads(response.read())

        def has_started():
            with contextlib.suppress(OSError):
                return get("x")[0] == 401
            return False

        until(has_started, 60)
        tokens = [issuer.token() for _ in range(TOKENS)]
        processes = set()

        def uses_both():
            processes.add(get(tokens[0])[1].get("process"))
            return len(processes - {None}) == 2

        until(uses_both, 30)
        until(lambda: len(issuer.feed_requests) == 2)
        delays = []
        for number, token in enumerate(tokens):
            self.assertEqual(get(token)[0], 200)
            issuer.revoke("token", f"jti_{number + 1}")
            began = time.monotonic()
            # Both processes: ten errors in a row.
            errors = 0
            while errors < 10:
                errors = errors + 1 if get(token)[0] == 401 else 0
                if errors == 1:
                    delays.append(time.monotonic() - began)
        self.assertLess(sorted(delays)[-2], 1, delays)

    def test_fastapi(self):
        self.check("fastapi", ["uvicorn", "apps:app", "--workers", "2", "--port", "{port}", "--log-level", "warning"])

    def test_flask(self):
        self.check("flask", ["gunicorn", "apps:app", "--preload", "-w", "2", "-b", "127.0.0.1:{port}"])

    def test_django(self):
        self.check("django", ["gunicorn", "apps:app", "--preload", "-w", "2", "-b", "127.0.0.1:{port}"])


if __name__ == "__main__":
    unittest.main()
