"""An authenticator made of Yubico's fido2: create|get ORIGIN KEY_FILE, with the page's options on stdin and the credential on stdout."""

import json
import os
import sys

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from fido2 import features
from fido2.cose import ES256
from fido2.utils import sha256, websafe_encode
from fido2.webauthn import (
    AttestationObject,
    AttestedCredentialData,
    AuthenticatorData,
    CollectedClientData,
    PublicKeyCredentialCreationOptions,
    PublicKeyCredentialRequestOptions,
)

if hasattr(features, "webauthn_json_mapping"):
    features.webauthn_json_mapping.enabled = True
act, origin, path = sys.argv[1:]
said = json.load(sys.stdin)
VERIFIED = AuthenticatorData.FLAG.UP | AuthenticatorData.FLAG.UV

if act == "create":
    options = PublicKeyCredentialCreationOptions.from_dict(said)
    key, credential, user = ec.generate_private_key(ec.SECP256R1()), os.urandom(32), options.user.id
    attested = AttestedCredentialData.create(bytes(16), credential, ES256.from_cryptography_key(key.public_key()))
    data = AuthenticatorData.create(
        sha256(options.rp.id.encode()), VERIFIED | AuthenticatorData.FLAG.AT, 1, attested
    )
    client = CollectedClientData.create("webauthn.create", options.challenge, origin)
    response = {"attestationObject": websafe_encode(AttestationObject.create("none", data, {}))}
    count = 1
else:
    options = PublicKeyCredentialRequestOptions.from_dict(said)
    with open(path) as file:
        stored = json.load(file)
    key = serialization.load_pem_private_key(stored["key"].encode(), None)
    credential, user = bytes.fromhex(stored["credential"]), bytes.fromhex(stored["user"])
    count = stored["count"] + 1
    data = AuthenticatorData.create(sha256(options.rp_id.encode()), VERIFIED, count)
    client = CollectedClientData.create("webauthn.get", options.challenge, origin)
    signature = key.sign(data + client.hash, ec.ECDSA(hashes.SHA256()))
    response = {
        "authenticatorData": websafe_encode(data),
        "signature": websafe_encode(signature),
        "userHandle": websafe_encode(user),
    }

pem = key.private_bytes(
    serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
).decode()
with open(path, "w") as file:
    json.dump({"key": pem, "credential": credential.hex(), "user": user.hex(), "count": count}, file)
name = websafe_encode(credential)
response["clientDataJSON"] = websafe_encode(client)
json.dump({"id": name, "rawId": name, "type": "public-key", "response": response, "clientExtensionResults": {}}, sys.stdout)
