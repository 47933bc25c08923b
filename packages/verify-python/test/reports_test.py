import re
import time
from unittest import mock

from issuer import AUDIENCE, api_key, until
from verifier_test_case import VerifierTestCase, bearer

from gatehouse_verify import Request, VerifyError, _reports

TEST = "revocation-test-1"
SEND = {"_INTERVAL_SECONDS": 0.05}


def requests(**counts):
    return {"person": 0, "machine": 0, "key": 0, "refused": [], **counts}


class ReportsTest(VerifierTestCase):
    def bodies(self):
        return [body for _, body in self.issuer.reports]

    def test_requests_by_the_kind_of_caller_and_refusals_by_error(self):
        verifier = self.loaded_verifier()
        key = api_key("k")
        self.issuer.active[key] = {"active": True, "aud": AUDIENCE, "client_id": "app_1", "scope": "notes:read"}
        for token in (key, self.issuer.token(), self.issuer.token(), self.issuer.token(sub="app_1")):
            verifier.verify(bearer(token), scopes=["notes:read"])
        without = Request("GET", AUDIENCE, {})
        for request in (without, bearer("x"), bearer("x"), bearer(self.issuer.token(scope=""))):
            with self.assertRaises(VerifyError):
                verifier.verify(request, scopes=["notes:read"])
        self.assertEqual(self.issuer.reports, [], "a request waits for no report")
        with mock.patch.multiple(_reports, **SEND):
            self.issuer.revoke("token", TEST)
            until(lambda: len(self.issuer.reports) == 1, 0.5)
            time.sleep(0.2)
        refused = [
            {"status": 401, "error": "unauthorized", "count": 1},
            {"status": 401, "error": "invalid_token", "count": 2},
            {"status": 403, "error": "insufficient_scope", "count": 1},
        ]
        ((path, body),) = self.issuer.reports
        self.assertEqual(body, {"applied": TEST, "requests": requests(person=2, machine=1, key=1, refused=refused)})
        described = self.issuer.feed_requests[0]["x-gatehouse-verifier"]
        id_ = re.match("id=([0-9a-f]+)", described)[1]
        self.assertEqual(path, f"/api/v1/resources/rsr_1/verifiers/{id_}/report")

    def test_what_could_not_be_sent_is_in_the_next_report(self):
        self.issuer.report_status = 500
        with mock.patch.multiple(_reports, **SEND):
            verifier = self.loaded_verifier()
            verifier.verify(bearer(self.issuer.token()))
            until(lambda: len(self.issuer.reports) > 1)
            self.issuer.report_status = 204
            verifier.verify(bearer(self.issuer.token()))
            time.sleep(0.3)
        sent = len(self.issuer.reports)
        self.assertEqual(self.bodies()[0], {"requests": requests(person=1)})
        self.assertEqual(self.bodies()[-1], {"requests": requests(person=2)})
        time.sleep(0.2)
        self.assertEqual(len(self.issuer.reports), sent, "nothing is new")

    def test_an_issuer_without_reports_gets_none_until_the_next_connection(self):
        for status in (403, 404):
            with self.subTest(status=status), mock.patch.multiple(_reports, **SEND):
                self.issuer.reports.clear()
                self.issuer.report_status = status
                verifier = self.loaded_verifier()
                verifier.verify(bearer(self.issuer.token()))
                until(lambda: len(self.issuer.reports) == 1)
                self.issuer.revoke("token", TEST)
                time.sleep(0.3)
                self.assertEqual(len(self.issuer.reports), 1)
                self.issuer.drop_connections()
                until(lambda: len(self.issuer.reports) == 2)
                verifier.close()

    def test_the_revocation_of_a_test_waits_for_the_report_under_way_alone(self):
        self.loaded_verifier()
        self.issuer.revoke("token", "jti_9")
        self.issuer.report_seconds = 0.3
        for number in range(4):
            self.issuer.revoke("token", f"revocation-test-{number}")
            until(lambda: len(self.issuer.reports) > 0, 0.5)
        time.sleep(0.1)
        self.assertEqual(self.bodies(), [{"applied": "revocation-test-0", "requests": requests()}])
        until(lambda: len(self.issuer.reports) > 1)
        self.assertEqual(self.bodies()[1]["applied"], "revocation-test-3")

    def test_close_sends_the_last_counts_if_the_issuer_is_there(self):
        verifier = self.loaded_verifier()
        verifier.verify(bearer(self.issuer.token()))
        thread = verifier._process().feed.reports._thread
        verifier.close()
        self.assertFalse(thread.is_alive())
        self.assertEqual(self.bodies(), [{"requests": requests(person=1)}])
        verifier = self.loaded_verifier()
        self.issuer.report_seconds = 5
        self.issuer.revoke("token", TEST)
        until(lambda: len(self.issuer.reports) == 2)
        verifier.verify(bearer(self.issuer.token()))
        began = time.monotonic()
        verifier.close()
        self.assertTrue(1 < time.monotonic() - began < 2)
