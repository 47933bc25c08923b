"""A Gatehouse for tests: keys, introspection and the feed of one API, over HTTP on loopback."""

import base64
import hashlib
import json
import queue
import threading
import time
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from joserfc import jwt
from joserfc.jwk import ECKey

AUDIENCE = "http://127.0.0.1:9/notes"
CLIENT = {"client_id": "app/1", "client_secret": "s: e%c"}
# Both are form-encoded (RFC 6749 §2.3.1).
BASIC = "Basic " + base64.b64encode(b"app%2F1:s%3A+e%25c").decode()
# Headers of the feed's responses that are errors.
FEED_HEADERS = {}
ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def api_key(text):
    body = "gatehouse_" + (text * 54)[:54]
    rest, checksum = zlib.crc32(body.encode()), ""
    for _ in range(6):
        rest, digit = divmod(rest, 62)
        checksum = ALPHABET[digit] + checksum
    return body + checksum


class Issuer:
    def __init__(self):
        self.keys = {"one": ECKey.generate_key("P-256")}
        self.kid = "one"
        self.alg = "ES256"
        self.counts = {}
        self.feed_requests = []
        # The path and the body of each report.
        self.reports = []
        self.report_status = 204
        self.report_seconds = 0
        # Introspection responses by token or key.
        self.active = {}
        self.introspection_seconds = 0
        self.keys_seconds = 0
        self.failing = set()
        self.feed_status = 200
        self.created_at = "2026-01-01T00:00:00.000Z"
        self.named_issuer = None
        self.heartbeat_seconds = 0.2
        self.is_silent = False
        self.entries = []
        self._listeners = set()
        self._jti = 0
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def token(self, **claims):
        self._jti += 1
        now = int(time.time())
        all_claims = {
            **{"iss": self.url, "aud": AUDIENCE, "sub": "usr_1", "client_id": "app_1", "scope": "notes:read"},
            **{"iat": now, "exp": now + 600, "jti": f"jti_{self._jti}", **claims},
        }
        header = {"alg": self.alg, "typ": "at+jwt", "kid": self.kid}
        return jwt.encode(header, all_claims, self.keys[self.kid], algorithms=[self.alg])

    def dpop_headers(self, method, url):
        key = ECKey.generate_key("P-256")
        token = self.token(cnf={"jkt": key.thumbprint()})
        ath = base64.urlsafe_b64encode(hashlib.sha256(token.encode()).digest()).rstrip(b"=").decode()
        header = {"alg": "ES256", "typ": "dpop+jwt", "jwk": key.as_dict(private=False)}
        claims = {"htm": method, "htu": url, "iat": int(time.time()), "jti": "1", "ath": ath}
        return {"Authorization": f"DPoP {token}", "DPoP": jwt.encode(header, claims, key)}

    def revoke(self, kind, id, **more):
        self.entries.append({"kind": kind, "id": id, "until": int(time.time()) + 3600, **more})
        for listener in list(self._listeners):
            listener.put("entry")

    def drop_connections(self):
        for listener in list(self._listeners):
            listener.put("end")

    def close(self):
        self.drop_connections()
        self._server.shutdown()
        self._server.server_close()

    def _handler(issuer):
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"])).decode()
                if self.path.endswith("/report"):
                    issuer.reports.append((self.path, json.loads(body)))
                    time.sleep(issuer.report_seconds)
                    return self.respond({}, issuer.report_status if self.headers["authorization"] == BASIC else 401)
                form = parse_qs(body)
                issuer.count("introspect")
                time.sleep(issuer.introspection_seconds)
                if "introspect" in issuer.failing or self.headers["authorization"] != BASIC:
                    return self.respond({}, 401)
                self.respond(issuer.active.get(form["token"][0], {"active": False}))

            def do_GET(self):
                path = urlsplit(self.path).path
                issuer.count(path)
                if path == "/jwks":
                    time.sleep(issuer.keys_seconds)
                if path in issuer.failing:
                    self.respond({}, 500)
                elif path == "/.well-known/oauth-authorization-server":
                    url = issuer.url
                    endpoints = {"jwks_uri": f"{url}/jwks", "introspection_endpoint": f"{url}/introspect"}
                    self.respond({"issuer": issuer.named_issuer or url, **endpoints})
                elif path == "/jwks":
                    keys = issuer.keys.items()
                    self.respond({"keys": [{**key.as_dict(private=False), "kid": kid} for kid, key in keys]})
                elif path == "/api/v1/resources":
                    found = parse_qs(urlsplit(self.path).query)["identifier"] == [AUDIENCE]
                    registered = {"id": "rsr_1", "identifier": AUDIENCE, "created_at": issuer.created_at}
                    self.respond({"data": [registered] if found else []})
                else:
                    self.feed()

            def feed(self):
                issuer.feed_requests.append(dict(self.headers))
                status = issuer.feed_status if self.headers["authorization"] == BASIC else 401
                if status != 200:
                    return self.respond({}, status, FEED_HEADERS)
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.end_headers()
                self.close_connection = True
                news = queue.Queue()
                issuer._listeners.add(news)
                sent = int(self.headers.get("last-event-id", 0))
                try:
                    while True:
                        while sent < len(issuer.entries):
                            self.send(f"id: {sent + 1}\ndata: {json.dumps(issuer.entries[sent])}\n\n")
                            sent += 1
                        if not issuer.is_silent:
                            self.send(f": heartbeat\nid: {sent}\n\n")
                        try:
                            if news.get(timeout=issuer.heartbeat_seconds) == "end":
                                return
                        except queue.Empty:
                            pass
                except OSError:
                    pass
                finally:
                    issuer._listeners.discard(news)

            def send(self, text):
                self.wfile.write(text.encode())
                self.wfile.flush()

            def respond(self, body, status=200, headers={}):
                data = b"" if status == 204 else json.dumps(body).encode()
                self.send_response(status)
                for name, value in {"content-type": "application/json", **headers}.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        return Handler

    def count(self, path):
        self.counts[path] = self.counts.get(path, 0) + 1


def until(condition, seconds=5):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("it did not happen in time")
        time.sleep(0.01)
