import asyncio
import resource
import threading
import time

from gatehouse_verify import VerifyError, create_verifier
from issuer import AUDIENCE, until
from verifier_test_case import VerifierTestCase, bearer

KEYS_AWAY = "The keys for verifying access tokens cannot be fetched at the moment."


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
        verifier.verify(bearer(self.issuer.token()))
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
                f"{head}.{payload}.{number:086d}",
                f"{unknown_head}.{payload}.{number:086d}",
                f"gatehouse_{number:060d}",
            ][number % 4]
            with self.assertRaises(VerifyError):
                verifier.verify(bearer(token))
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        self.assertLess(grown, 12_000, "in KB")
        self.assertLess(sum(self.issuer.counts.values()), 100)

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
            {"issuer": "http://localhost/"},
        ):
            with self.assertRaises(ValueError, msg=options):
                create_verifier(**{"issuer": "http://localhost", "audience": AUDIENCE, **options})
