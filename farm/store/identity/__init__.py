"""What something was made from: code, parameters and data, as digests by which it is found again."""

from farm.store.identity.code import CodeDigest, code_digest, testbed_digest
from farm.store.identity.component import Identities
from farm.store.identity.content import content_digest

__all__ = [
    "CodeDigest",
    "Identities",
    "code_digest",
    "content_digest",
    "testbed_digest",
]
