import threading
import time
import unittest

from issuer import AUDIENCE, api_key, until
from verifier_test_case import VerifierTestCase, bearer

from gatehouse_verify._revocations import Revocations

KEY_AWAY = "The API key cannot be checked at the moment."
KEY_INVALID = "The API key is not valid."


class ApiKeysTest(VerifierTestCase):
    def key_response(self, **more):
        return {"active": True, "aud": AUDIENCE, "client_id": "app_k", "jti": "key_1", "scope": "notes:read", **more}

    def test_an_api_key_is_cached_until_the_feed_concerns_it(self):
        verifier = self.loaded_verifier()
        key = api_key("a")
        self.issuer.active[key] = self.key_response(owner="usr_o")
        self.assertEqual(verifier.verify(bearer(key)).kind, "key")
        position = verifier._process().revocations.position
        for number, (kind, id_) in enumerate((("token", "key_1"), ("client", "app_k"), ("subject", "usr_o"))):
            for _ in range(3):
                verifier.verify(bearer(key))
            self.issuer.revoke("client", f"app_{number}")
            until(lambda: verifier._process().revocations.position == position + 2 * number + 1)
            verifier.verify(bearer(key))
            self.assertEqual(self.issuer.counts["introspect"], number + 1)
            self.issuer.revoke(kind, id_, epoch=1)
            until(lambda: verifier._process().revocations.position == position + 2 * number + 2)
            verifier.verify(bearer(key))
            self.assertEqual(self.issuer.counts["introspect"], number + 2)
        self.issuer.active[key] = {"active": False}
        self.issuer.revoke("client", "app_k", epoch=2)
        self.assert_soon_refused(verifier, key, KEY_INVALID)

    def test_a_response_that_was_on_its_way_when_a_revocation_came_is_asked_for_again(self):
        verifier = self.loaded_verifier()
        key = api_key("b")
        self.issuer.active[key] = self.key_response()
        self.issuer.introspection_seconds = 0.5

        def revoke_meanwhile():
            until(lambda: self.issuer.counts.get("introspect") == 1)
            self.issuer.revoke("token", "key_1")

        threading.Thread(target=revoke_meanwhile).start()
        verifier.verify(bearer(key))
        self.assertEqual(self.issuer.counts["introspect"], 2)

    def test_an_invalid_key_is_cached_for_five_seconds_and_a_malformed_one_costs_nothing(self):
        verifier = self.verifier()
        for _ in range(3):
            self.assert_refused(verifier, api_key("c"), KEY_INVALID)
            self.assert_refused(verifier, api_key("c")[:-2] + "00", KEY_INVALID)
        self.assertEqual(self.issuer.counts["introspect"], 1)
        self.issuer.active[api_key("c")] = self.key_response()
        verifier._clock = lambda: time.time() + 5.1
        verifier.verify(bearer(api_key("c")))

    def test_keys_are_not_taken_from_the_cache_without_news_or_after_a_minute(self):
        verifier = self.loaded_verifier()
        key = api_key("d")
        self.issuer.active[key] = self.key_response()
        verifier.verify(bearer(key))
        digest, known = next(iter(verifier._process()._valid_keys._values.items()))
        self.assertAlmostEqual(known.expires_at - time.time(), 60, delta=1)
        self.assertNotIn(key.encode(), digest)
        verifier._process()._valid_keys.set(digest, known._replace(expires_at=0))
        verifier.verify(bearer(key))
        self.assertEqual(self.issuer.counts["introspect"], 2)
        self.issuer.failing.add("introspect")
        verifier.verify(bearer(key))
        verifier._process().feed._heard_at = float("-inf")
        self.issuer.is_silent = True
        self.assert_refused(verifier, key, KEY_AWAY, 503)


class RevocationsTest(unittest.TestCase):
    def test_the_oldest_entries_make_room_and_older_credentials_are_refused(self):
        revocations = Revocations(lambda: 1000.0, capacity=100)
        for number in range(101):
            revocations.add({"kind": "token", "id": str(number), "until": 5000})

        def is_revoked(token, issued_at):
            return revocations.is_revoked({("token", token): 0}, issued_at)

        self.assertEqual(len(revocations._entries), 100)
        self.assertTrue(is_revoked("other", 1060))
        self.assertFalse(is_revoked("other", 1061))
        self.assertTrue(is_revoked("100", 1061))
        self.assertTrue(revocations.concern({("client", "k"): 0}, 100))

    def test_another_registration_outdates_the_keys(self):
        revocations = Revocations(lambda: 1000.0)
        key = {("client", "k"): 0}
        revocations.refuse_issued_before(100)
        first = revocations.position
        revocations.refuse_issued_before(100)
        self.assertFalse(revocations.concern(key, first))
        revocations.refuse_issued_before(200)
        self.assertTrue(revocations.concern(key, first))
        self.assertFalse(revocations.concern(key, revocations.position))

    def test_entries_end(self):
        now = 1000.0
        revocations = Revocations(lambda: now)
        revocations.add({"kind": "token", "id": "a", "until": 1001})
        now = 1119.0
        revocations.add({"kind": "token", "id": "b", "until": 1001})
        self.assertEqual(len(revocations._entries), 2, "for two minutes at least")
        now = 1150.0
        revocations.add({"kind": "token", "id": "c", "until": 5000})
        self.assertEqual([id_ for _, id_ in revocations._entries], ["b", "c"])
