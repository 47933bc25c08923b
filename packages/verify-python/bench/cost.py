"""`python bench/cost.py`: the processor time of a verified request beside authlib (`pip install authlib`), in µs."""

import sys
import time
import warnings
from pathlib import Path

from gatehouse_verify import Request, create_verifier

sys.path.insert(0, str(Path(__file__).parents[1] / "test"))
from issuer import AUDIENCE, CLIENT, Issuer  # noqa: E402

warnings.simplefilter("ignore")
from authlib.jose import JsonWebKey, JsonWebToken  # noqa: E402

TOKENS = 2000
issuer = Issuer()
tokens = [issuer.token() for _ in range(TOKENS)]
keys = JsonWebKey.import_key_set({"keys": [{**issuer.keys["one"].as_dict(private=False), "kid": "one"}]})
claims = {
    "iss": {"essential": True, "value": issuer.url},
    "aud": {"essential": True, "value": AUDIENCE},
}
authlib = JsonWebToken(["ES256"])
verifier = create_verifier(issuer=issuer.url, audience=AUDIENCE, **CLIENT)


def verify(token):
    verifier.verify(Request("GET", AUDIENCE, {"authorization": f"Bearer {token}"}), scopes=["notes:read"])


def cost(work, tokens):
    began = time.process_time()
    for token in tokens:
        work(token)
    return (time.process_time() - began) / len(tokens) * 1e6


verify(issuer.token())
for _ in range(3):
    decoding = cost(lambda token: authlib.decode(token, keys, claims_options=claims).validate(), tokens)
    verifier._process()._tokens._values.clear()
    cold, warm = cost(verify, tokens), cost(verify, tokens)
    print(f"authlib {decoding:.0f}, a new token {cold:.0f}, a known token {warm:.1f}")
