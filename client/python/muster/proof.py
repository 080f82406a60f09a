"""Proofs of a token, for connections on which the token itself must not be sent
(docs/protocol.md)."""
import hashlib
import hmac
import os

NONCE_BYTES, ID_BYTES = 32, 16


def draw_nonce():
    return os.urandom(NONCE_BYTES)


def _keyed(token, text):
    return hmac.new(hashlib.sha256(token.encode("utf-8")).digest(), text, hashlib.sha256).digest()


def id_of(token):
    """Returns the bytes by which the server finds the token."""
    return _keyed(token, b"muster token id")[:ID_BYTES]


def server_proof(token, own, theirs):
    """Returns what only a server that knows the token's hash can send, for the nonces of both
    sides."""
    return _keyed(token, b"muster server proof" + own + theirs)


def client_proof(token, own, theirs):
    """Returns what only a client that knows the token can send."""
    return _keyed(token, b"muster client proof" + own + theirs)


def is_equal(one, other):
    """Compares in a time that does not depend on the bytes."""
    return hmac.compare_digest(bytes(one), bytes(other))
