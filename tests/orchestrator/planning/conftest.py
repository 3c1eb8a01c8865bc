"""Attachments made up by kind, and the shipped capabilities."""

import hashlib
from collections.abc import Callable, Mapping

import pytest

from enlist.orchestrator.capabilities import Capability, load_capabilities
from enlist.orchestrator.request import Attachment
from enlist.orchestrator.sniff import sniff
from enlist.tools.runtime.artifacts import ArtifactRef


@pytest.fixture
def capabilities() -> Mapping[str, Capability]:
    return load_capabilities()


@pytest.fixture
def attach() -> Callable[..., Attachment]:
    def make(name: str, *kinds: str) -> Attachment:
        digest = hashlib.sha256(name.encode()).hexdigest()
        return Attachment(ref=ArtifactRef(sha256=digest, name=name, bytes=len(name)), kinds=kinds)

    return make


@pytest.fixture
def sniffed() -> Callable[[str, str], Attachment]:
    """An attachment of this name and content, with the kinds that sniffing finds."""
    def make(name: str, content: str) -> Attachment:
        data = content.encode()
        ref = ArtifactRef(sha256=hashlib.sha256(name.encode() + data).hexdigest(), name=name, bytes=len(data))
        return Attachment(ref=ref, kinds=sniff(data, name, len(data)).kinds)

    return make
