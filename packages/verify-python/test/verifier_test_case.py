import contextlib
import unittest

from issuer import AUDIENCE, CLIENT, Issuer, until

from gatehouse_verify import Request, VerifyError, create_verifier

REVOKED = "The access token has been revoked."
KEYS_AWAY = "The keys for verifying access tokens cannot be fetched at the moment."
NOT_KNOWN = "It is not known at the moment which tokens are revoked."


def bearer(token):
    return Request("GET", f"{AUDIENCE}/7", {"Authorization": f"Bearer {token}"})


class VerifierTestCase(unittest.TestCase):
    def setUp(self):
        self.issuer = Issuer()
        self.addCleanup(self.issuer.close)
        self.states = []
        self.figures = []

    def verifier(self, credentials=CLIENT, **options):
        reports = {
            "log": lambda message, state: self.states.append(state),
            "metrics": lambda name, value, labels: self.figures.append((name, value, labels)),
        }
        all_options = {**reports, **credentials, **options}
        verifier = create_verifier(issuer=self.issuer.url, audience=AUDIENCE, **all_options)
        self.addCleanup(verifier.close)
        return verifier

    def loaded_verifier(self, **options):
        verifier = self.verifier(**options)
        feed = verifier._process().feed
        feed.start()
        until(feed.is_fresh)
        return verifier

    def assert_refused(self, verifier, token, description, status=401):
        with self.assertRaises(VerifyError) as caught:
            verifier.verify(bearer(token))
        self.assertEqual((caught.exception.status, str(caught.exception)), (status, description))
        return caught.exception

    def assert_soon_refused(self, verifier, token, description=REVOKED):
        def is_refused():
            with contextlib.suppress(VerifyError):
                verifier.verify(bearer(token))
                return False
            return True

        until(is_refused, 1)
        self.assert_refused(verifier, token, description)
