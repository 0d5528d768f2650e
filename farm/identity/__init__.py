"""What something was made from: code, parameters and data, as digests by which it is found again."""

from farm.identity.code import CodeDigest, code_digest, testbed_digest
from farm.identity.component import Identities, benchmark_identity, component_identity
from farm.identity.current import in_memory_is_current
from farm.identity.files import content_digest

__all__ = [
    "CodeDigest",
    "Identities",
    "benchmark_identity",
    "code_digest",
    "component_identity",
    "content_digest",
    "in_memory_is_current",
    "testbed_digest",
]
