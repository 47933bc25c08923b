import functools
import itertools
import math
import os
import time
from datetime import datetime, timezone
from unittest import mock

import httpx
import issuer as test_issuer
from issuer import AUDIENCE, api_key, until
from verifier_test_case import KEYS_AWAY, NOT_KNOWN, REVOKED, VerifierTestCase, bearer

from gatehouse_verify import _feed, create_verifier


class FeedTest(VerifierTestCase):
    def test_a_revoked_token_is_refused_within_a_second(self):
        verifier = self.loaded_verifier()
        ways = {
            "token": (self.issuer.token(jti="jti_x"), "jti_x", {}),
            "grant": (self.issuer.token(gid="gra_x"), "gra_x", {}),
            "client": (self.issuer.token(client_id="app_x", epoch={"client": 1}), "app_x", {"epoch": 2}),
            "subject": (self.issuer.token(sub="usr_x"), "usr_x", {}),
        }
        other = self.issuer.token()
        for kind, (token, id_, more) in ways.items():
            verifier.verify(bearer(token))
            self.issuer.revoke(kind, id_, **more)
            self.assert_soon_refused(verifier, token)
            verifier.verify(bearer(other))
        self.assertEqual(self.issuer.counts.get("introspect"), None)
        self.assertEqual(self.states, ["connected"])

    def test_entries_in_force_count_for_the_first_request(self):
        self.issuer.revoke("token", "jti_old")
        self.assert_refused(self.verifier(), self.issuer.token(jti="jti_old"), REVOKED)

    def test_the_feed_says_who_listens_and_continues_where_it_ended(self):
        verifier = self.loaded_verifier(stale={"then": "refuse"})
        self.issuer.revoke("token", "a")
        self.assert_soon_refused(verifier, self.issuer.token(jti="a"))
        until(lambda: verifier._process().feed._position == "1")
        self.issuer.drop_connections()
        until(lambda: len(self.issuer.feed_requests) == 2)
        self.issuer.revoke("token", "b")
        self.assert_soon_refused(verifier, self.issuer.token(jti="b"))
        first, second = self.issuer.feed_requests
        self.assertNotIn("last-event-id", first)
        self.assertEqual(second["last-event-id"], "1")
        self.assertEqual(first["user-agent"], "gatehouse-verify-python/0.1.0")
        self.assertRegex(first["x-gatehouse-verifier"], r"^id=[0-9a-f]{16}; stale=refuse$")
        self.assertEqual(first["x-gatehouse-verifier"], second["x-gatehouse-verifier"])
        self.assertEqual(self.issuer.counts["/api/v1/resources"], 1)

    def test_silence_is_reported_and_each_policy_does_what_it_says(self):
        verifiers = {
            then: self.loaded_verifier(stale={"after_seconds": 1, "then": then})
            for then in ("introspect", "refuse", "accept")
        }
        good, revoked = self.issuer.token(), self.issuer.token(jti="jti_r")
        for verifier in verifiers.values():
            verifier.verify(bearer(good))
        self.issuer.revoke("token", "jti_r")
        for verifier in verifiers.values():
            self.assert_soon_refused(verifier, revoked)
        self.issuer.is_silent = True
        until(lambda: not any(it._process().feed.is_fresh() for it in verifiers.values()))
        for verifier in verifiers.values():
            self.assert_refused(verifier, revoked, REVOKED)
        self.issuer.active[good] = {"active": True}
        verifiers["introspect"].verify(bearer(good))
        self.issuer.active[good] = {"active": False}
        self.assert_refused(verifiers["introspect"], good, REVOKED)
        self.issuer.failing.add("introspect")
        error = self.assert_refused(verifiers["introspect"], good, NOT_KNOWN, 503)
        self.assertEqual(error.headers, {"retry-after": "5"})
        self.assert_refused(verifiers["refuse"], good, NOT_KNOWN, 503)
        verifiers["accept"].verify(bearer(good))
        self.assertEqual(self.issuer.counts["introspect"], 3)
        self.issuer.drop_connections()
        until(lambda: self.states.count("silent") == 3)
        self.issuer.is_silent = False
        until(lambda: self.states.count("connected") == 6)
        verifiers["refuse"].verify(bearer(good))

    def test_a_first_request_waits_a_second_for_the_feed(self):
        self.issuer.is_silent = True
        verifier = self.verifier(stale={"then": "refuse"})
        began = time.monotonic()
        self.assert_refused(verifier, self.issuer.token(), NOT_KNOWN, 503)
        self.assertTrue(0.8 < time.monotonic() - began < 2)
        began = time.monotonic()
        self.assert_refused(verifier, self.issuer.token(), NOT_KNOWN, 503)
        self.assertLess(time.monotonic() - began, 0.3)

    def test_refused_credentials_are_reported_and_not_tried_in_a_loop(self):
        verifier = self.verifier(credentials={"client_id": "app_1", "client_secret": "wrong"})
        self.assert_refused(verifier, self.issuer.token(), NOT_KNOWN, 503)
        self.assertEqual(self.states, ["refused"])
        time.sleep(0.5)
        self.assertEqual(len(self.issuer.feed_requests), 1)

    def test_a_connection_without_a_byte_is_made_again(self):
        self.assertEqual(_feed._TIMEOUT.read, 6)
        with mock.patch.object(_feed, "_TIMEOUT", httpx.Timeout(3, read=1)):
            self.loaded_verifier()
            self.issuer.heartbeat_seconds = 60
            until(lambda: len(self.issuer.feed_requests) == 2)

    def test_retry_after_is_kept_to(self):
        verifier = self.verifier(stale={"then": "refuse"})
        self.issuer.feed_status = 503
        with mock.patch.dict(test_issuer.FEED_HEADERS, {"retry-after": "2"}):
            self.assert_refused(verifier, self.issuer.token(), NOT_KNOWN, 503)
            time.sleep(0.5)
        self.assertEqual(len(self.issuer.feed_requests), 1)
        self.issuer.feed_status = 200
        until(lambda: verifier._process().feed.is_fresh(), 3)

    def test_an_api_that_is_registered_again_has_no_tokens_from_before(self):
        verifier = self.loaded_verifier()
        created = math.ceil(time.time()) + 1
        old, new, key = self.issuer.token(), self.issuer.token(iat=created, jti="jti_n"), api_key("r")
        self.issuer.active[key] = {"active": True, "aud": AUDIENCE, "client_id": "app_k"}
        for credential in (old, key):
            verifier.verify(bearer(credential))
        self.issuer.created_at = datetime.fromtimestamp(created, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        self.issuer.feed_status = 404
        self.issuer.drop_connections()
        until(lambda: self.states[-1] == "refused")
        self.issuer.feed_status = 200
        until(lambda: self.states[-1] == "connected")
        self.assert_refused(verifier, old, REVOKED)
        self.issuer.active[key] = {"active": False}
        self.assert_refused(verifier, key, "The API key is not valid.")
        verifier.verify(bearer(new))
        self.assertNotIn("last-event-id", self.issuer.feed_requests[-1])

    def test_a_block_without_an_end_is_broken_off(self):
        for line in (b"data: a\n", b": heartbeat\r\n", b"a"):
            with self.assertRaisesRegex(ValueError, "too long", msg=line):
                list(_feed._blocks(itertools.repeat(line, 100_000)))
        blocks = list(_feed._blocks(itertools.repeat(b"id: 1\n\n", 20_000)))
        self.assertEqual(blocks, [{"id": "1"}] * 20_000)

    def test_an_https_issuer_has_no_http_endpoints(self):
        issuer = "https://id.example.com"
        keys = {"keys": [{**self.issuer.keys["one"].as_dict(private=False), "kid": "one"}]}
        token = self.issuer.token(iss=issuer)
        for uri, is_accepted in (("https://keys.example.net/jwks", True), ("http://id.example.com/jwks", False)):
            verifier = create_verifier(issuer=issuer, audience=AUDIENCE, log=lambda *_: None)
            documents = {uri: keys, f"{issuer}/.well-known/oauth-authorization-server": {"issuer": issuer, "jwks_uri": uri}}
            respond = functools.partial(lambda documents, it: httpx.Response(200, json=documents[str(it.url)]), documents)
            verifier._transport = httpx.MockTransport(respond)
            if is_accepted:
                verifier.verify(bearer(token))
            else:
                self.assert_refused(verifier, token, KEYS_AWAY, 503)
            verifier.close()

    def test_metadata_of_another_issuer_is_not_used(self):
        self.issuer.named_issuer = "https://other.example"
        verifier = self.verifier(credentials={})
        self.assert_refused(verifier, self.issuer.token(), KEYS_AWAY, 503)

    def test_without_credentials_it_says_that_revocation_is_not_checked(self):
        verifier = self.verifier(credentials={})
        self.assertEqual(self.states, ["unchecked"])
        verifier.verify(bearer(self.issuer.token()))
        self.assertEqual(self.issuer.feed_requests, [])

    def test_close_ends_the_feed_at_once(self):
        self.issuer.heartbeat_seconds = 60
        verifier = self.loaded_verifier()
        thread = verifier._process().feed._thread
        began = time.monotonic()
        verifier.close()
        self.assertLess(time.monotonic() - began, 0.5)
        self.assertFalse(thread.is_alive())
        self.issuer.heartbeat_seconds = 0.2
        verifier.verify(bearer(self.issuer.token()))

    def test_a_fork_listens_by_itself(self):
        verifier = self.loaded_verifier(stale={"then": "refuse"})
        token = self.issuer.token(jti="jti_f")
        verifier.verify(bearer(token))
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                verifier.verify(bearer(token))
                os.write(writer, b"1")
                self.assert_soon_refused_in_fork(verifier, token, writer)
            finally:
                os._exit(0)
        self.assertEqual(os.read(reader, 1), b"1")
        self.assertEqual(len(self.issuer.feed_requests), 2)
        self.issuer.revoke("token", "jti_f")
        self.assertEqual(os.read(reader, 1), b"2")
        os.waitpid(child, 0)
        self.assert_soon_refused(verifier, token)

    def assert_soon_refused_in_fork(self, verifier, token, writer):
        self.assert_soon_refused(verifier, token)
        os.write(writer, b"2")
