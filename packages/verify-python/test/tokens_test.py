import asyncio
import resource
import threading
import time
import warnings

from issuer import AUDIENCE, until
from joserfc.jwk import RSAKey
from verifier_test_case import KEYS_AWAY, VerifierTestCase, bearer

from gatehouse_verify import Request, VerifyError, create_verifier

INVALID = "The access token is not valid."


class TokensTest(VerifierTestCase):
    def test_tasks_share_an_introspection_and_do_not_block_the_loop(self):
        self.issuer.is_silent = True
        self.issuer.introspection_seconds = 0.3
        verifier = self.verifier()
        token = self.issuer.token()
        self.issuer.active[token] = {"active": True}

        async def main():
            ticks = 0

            async def tick():
                nonlocal ticks
                while True:
                    await asyncio.sleep(0.01)
                    ticks += 1

            ticking = asyncio.create_task(tick())
            tasks = [asyncio.create_task(verifier.averify(bearer(token))) for _ in range(200)]
            await asyncio.sleep(1.1)
            tasks[0].cancel()
            callers = await asyncio.gather(*tasks[1:])
            ticking.cancel()
            await verifier.aclose()
            return ticks, callers

        ticks, callers = asyncio.run(main())
        self.assertGreater(ticks, 10)
        self.assertEqual({caller.subject for caller in callers}, {"usr_1"})
        self.assertEqual(self.issuer.counts["introspect"], 1)

    def test_parallel_introspections_share_the_metadata(self):
        self.issuer.is_silent = True
        verifier = self.verifier()
        tokens = [self.issuer.token() for _ in range(4)]
        self.issuer.active = {token: {"active": True} for token in tokens}
        verifier.verify(bearer(tokens[0]))
        self.issuer.introspection_seconds = 0.3
        threads = [threading.Thread(target=verifier.verify, args=(bearer(token),)) for token in tokens]
        for thread in threads:
            thread.start()
            time.sleep(0.02)
        for thread in threads:
            thread.join()
        self.assertEqual(self.issuer.counts["introspect"], 5)
        self.assertEqual(self.issuer.counts["/.well-known/oauth-authorization-server"], 1)

    def test_threads_share_the_keys(self):
        verifier = self.verifier(credentials={})
        tokens = [self.issuer.token() for _ in range(20)]
        failures = []

        def run(token):
            try:
                verifier.verify(bearer(token))
            except VerifyError as error:
                failures.append(error)

        threads = [threading.Thread(target=run, args=(token,)) for token in tokens]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])
        self.assertEqual(self.issuer.counts["/jwks"], 1)

    def test_keys_rotate_without_a_refused_request(self):
        verifier = self.verifier(credentials={})
        verifier.verify(bearer(self.issuer.token()))
        self.issuer.keys["two"] = type(self.issuer.keys["one"]).generate_key("P-256")
        self.issuer.kid = "two"
        time.sleep(1)
        verifier.verify(bearer(self.issuer.token()))

    def test_tokens_of_a_withdrawn_key_end_when_the_keys_are_fetched_again(self):
        verifier = self.verifier(credentials={})
        cached = self.issuer.token()
        self.issuer.keys["two"] = type(self.issuer.keys["one"]).generate_key("P-256")
        self.issuer.kid = "two"
        other = self.issuer.token()
        for token in (cached, other):
            verifier.verify(bearer(token))
        del self.issuer.keys["one"]
        verifier.verify(bearer(cached))
        keys = verifier._process()._keys
        keys._fetched_at -= 601
        keys._tried_at -= 601
        self.issuer.failing.add("/jwks")
        verifier.verify(bearer(cached))
        self.issuer.failing.clear()
        keys._tried_at -= 601
        self.assert_soon_refused(verifier, cached, INVALID)
        verifier.verify(bearer(other))

    def test_a_number_beyond_the_floats_is_no_number(self):
        verifier = self.verifier(credentials={})
        self.assert_refused(verifier, self.issuer.token(exp=10**400), "The access token's exp is not accepted here.")
        self.assert_refused(verifier, self.issuer.token(epoch={"client": 10**400}), INVALID)

    def test_known_keys_go_on_while_none_can_be_fetched(self):
        verifier = self.verifier(credentials={})
        self.issuer.failing.add("/jwks")
        self.assert_refused(verifier, self.issuer.token(), KEYS_AWAY, 503)
        self.issuer.failing.clear()
        time.sleep(1)
        verifier.verify(bearer(self.issuer.token()))
        self.issuer.failing.add("/jwks")
        keys = verifier._process()._keys
        keys._fetched_at -= 601
        keys._tried_at -= 601
        verifier.verify(bearer(self.issuer.token()))
        # After a failure, requests do not wait for the next try.
        self.issuer.keys_seconds = 1
        keys._tried_at -= 601
        began = time.monotonic()
        verifier.verify(bearer(self.issuer.token()))
        self.assertLess(time.monotonic() - began, 0.9)
        self.issuer.kid = "unknown"
        self.issuer.keys["unknown"] = self.issuer.keys["one"]
        self.assert_refused(verifier, self.issuer.token(), KEYS_AWAY, 503)

    def test_random_credentials_cost_neither_memory_nor_requests(self):
        verifier = self.loaded_verifier(metrics=lambda *_: None)
        verifier.verify(bearer(self.issuer.token()))
        head, payload, signature = self.issuer.token().split(".")
        self.issuer.keys["k"] = self.issuer.keys["one"]
        self.issuer.kid = "k"
        unknown_head = self.issuer.token().split(".")[0]
        del self.issuer.keys["k"]
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for number in range(20_000):
            token = [
                f"x.{number}.y",
                f"{head}.{payload}.{number:085d}A",
                f"{unknown_head}.{payload}.{number:085d}A",
                f"gatehouse_{number:060d}",
            ][number % 4]
            with self.assertRaises(VerifyError) as caught:
                verifier.verify(bearer(token))
            self.assertEqual(caught.exception.status, 401)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        self.assertLess(grown, 12_000, "in KB")
        self.assertLess(sum(self.issuer.counts.values()), 100)

    def test_the_cache_keeps_the_tokens_used_last(self):
        verifier = self.verifier(credentials={}, cache=3)
        tokens = [self.issuer.token() for _ in range(4)]
        for number in (0, 1, 2, 0, 3):
            verifier.verify(bearer(tokens[number]))
        cached = verifier._process()._tokens._values.values()
        self.assertEqual([it.caller.claims["jti"] for it in cached], ["jti_3", "jti_1", "jti_4"])

    def test_a_cached_token_expires(self):
        verifier = self.verifier(credentials={}, clock_skew=0)
        token = self.issuer.token(exp=int(time.time()) + 3600)
        verifier.verify(bearer(token))
        verifier._clock = lambda: time.time() + 3601
        self.assert_refused(verifier, token, "The access token has expired.")

    def test_keys_and_claims_that_do_not_fit(self):
        verifier = self.verifier(credentials={})
        self.issuer.keys["rs"] = RSAKey.generate_key(2048, {"alg": "RS256"})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.issuer.keys["short"] = RSAKey.generate_key(1024)
        verifier.verify(bearer(self.issuer.token()))
        self.assert_refused(verifier, self.issuer.token(iat=float("nan")), INVALID)
        self.issuer.alg = "RS256"
        self.issuer.kid = "short"
        self.assert_refused(verifier, self.issuer.token(), INVALID)
        self.issuer.kid = "rs"
        verifier.verify(bearer(self.issuer.token()))
        # The key as the issuer has it, which would sign with this algorithm, too.
        self.issuer.keys["rs"] = RSAKey.import_key({**self.issuer.keys["rs"].as_dict(private=True), "alg": "PS256"})
        self.issuer.alg = "PS256"
        self.assert_refused(verifier, self.issuer.token(), INVALID)

    def test_a_shared_store_accepts_a_proof_once(self):
        used = set()

        class Store:
            def use(self, key, ttl_seconds):
                if ttl_seconds != 120 or "fail" in used:
                    raise OSError("the store is away")
                is_first = key not in used
                used.add(key)
                return is_first

        verifiers = [self.verifier(credentials={}, replay_store=Store()) for _ in range(2)]
        request = Request("GET", AUDIENCE, self.issuer.dpop_headers("GET", AUDIENCE))
        verifiers[0].verify(request)
        for description, status in (
            ("The DPoP proof has been used before.", 401),
            ("The DPoP proof cannot be checked at the moment.", 503),
        ):
            with self.assertRaises(VerifyError) as caught:
                verifiers[1].verify(request)
            self.assertEqual((str(caught.exception), caught.exception.status), (description, status))
            used.add("fail")

    def test_headers_of_a_proxy_count_where_it_is_trusted(self):
        forwarded = {"X-Forwarded-Proto": "https, http", "X-Forwarded-Host": "api.example.com, proxy"}
        outside = "https://api.example.com/notes"
        for options, url, is_accepted in (
            ({"trust_proxy": True}, outside, True),
            ({"trust_proxy": True}, AUDIENCE, True),
            ({}, AUDIENCE, True),
            ({}, outside, False),
            ({"trust_proxy": True, "origins": ["https://notes.example.com"]}, outside, False),
        ):
            headers = {**forwarded, **self.issuer.dpop_headers("GET", url)}
            request = Request("GET", "http://10.0.0.7:8080/notes", headers)
            verifier = self.verifier(credentials={}, **options)
            if is_accepted:
                verifier.verify(request)
            else:
                with self.assertRaises(VerifyError, msg=options):
                    verifier.verify(request)

    def test_figures_name_what_happened_and_hold_no_secret(self):
        verifier = self.loaded_verifier()
        token = self.issuer.token(jti="jti_m")
        verifier.verify(bearer(token))
        self.issuer.revoke("token", "jti_m")
        self.assert_soon_refused(verifier, token)
        with self.assertRaises(VerifyError):
            verifier.verify(bearer(self.issuer.token()), scopes=["x"])
        self.assertIn(("verified", 1, {}), self.figures)
        self.assertIn(("revocations", 1, {}), self.figures)
        self.assertIn(("refused", 1, {"error": "invalid_token", "status": "401"}), self.figures)
        self.assertIn(("refused", 1, {"error": "insufficient_scope", "status": "403"}), self.figures)
        until(lambda: any(name == "behind_seconds" and value < 1 for name, value, _ in self.figures))
        self.assertNotIn(token, repr(self.figures))

    def test_a_failing_function_for_logs_or_figures_fails_no_request(self):
        def fail(*_):
            raise RuntimeError("it is broken")

        with self.assertLogs("gatehouse_verify", "ERROR"):
            verifier = self.loaded_verifier(log=fail, metrics=fail)
            verifier.verify(bearer(self.issuer.token()))

    def test_a_change_of_a_caller_does_not_reach_the_next(self):
        verifier = self.verifier(credentials={})
        token = self.issuer.token()
        caller = verifier.verify(bearer(token))
        caller.scopes.append("admin")
        caller.claims["sub"] = "usr_2"
        again = verifier.verify(bearer(token))
        self.assertEqual((again.scopes, again.claims["sub"]), (["notes:read"], "usr_1"))

    def test_options_are_checked(self):
        for options in (
            {"client_id": "a"},
            {"client_secret": "a"},
            {"audience": "notes"},
            {"audience": "urn:notes"},
            {"stale": {"then": "ask"}},
            {"cache": 0},
            {"origins": "https://api.example.com"},
            {"origins": ["https://api.example.com/notes"]},
            {"origins": ["ftp://api.example.com"]},
            {"origins": [""]},
            {"issuer": "http://localhost/"},
        ):
            with self.assertRaises(ValueError, msg=options):
                create_verifier(**{"issuer": "http://localhost", "audience": AUDIENCE, **options})
