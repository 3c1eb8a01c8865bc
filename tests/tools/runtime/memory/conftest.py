"""Stores for the tests of this folder."""

import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import boto3
import pytest

from enlist.tools.runtime.memory.protocol import Memory
from enlist.tools.runtime.memory.sqlite import SqliteMemory


@pytest.fixture
def make_memory(tmp_path: Path) -> Iterator[Callable[[], Memory]]:
    """Makes a new, empty SQLite store at each call."""
    made: list[SqliteMemory] = []

    def make() -> Memory:
        made.append(SqliteMemory(tmp_path / str(len(made)) / "store.db"))
        return made[-1]

    yield make
    for memory in made:
        memory.close()


@pytest.fixture
def memory(make_memory: Callable[[], Memory]) -> Memory:
    """One new SQLite store."""
    return make_memory()


class S3:
    """A server that speaks S3. `fault` is asked for each request, as "METHOD path?query", which status it gets instead
    of an answer; None: the answer."""

    def __init__(self) -> None:
        from moto.server import DomainDispatcherApplication, create_backend_app
        from werkzeug.serving import make_server

        self.fault: Callable[[str], int | None] = lambda request: None
        self._inside = DomainDispatcherApplication(create_backend_app)
        self._server = make_server("127.0.0.1", 0, self._answer, threaded=True)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.client: Any = boto3.client("s3", endpoint_url=self.endpoint, region_name="us-east-1")
        self.client.create_bucket(Bucket="artifacts")

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._server.port}"

    def place(self, prefix: str, bucket: str = "artifacts") -> str:
        return f"s3://{bucket}/{prefix}?endpoint={self.endpoint}&region=us-east-1"

    def keys(self, prefix: str) -> list[str]:
        """Names of the objects below a prefix, without it."""
        found = self.client.list_objects_v2(Bucket="artifacts", Prefix=f"{prefix}/").get("Contents", [])
        return [item["Key"].removeprefix(f"{prefix}/") for item in found]

    def age(self, prefix: str, seconds: float) -> None:
        """Make every object below a prefix, as far as it is younger, so old."""
        from moto.core.utils import utcnow
        from moto.s3.models import s3_backends

        (account,) = s3_backends
        for name, key in s3_backends[account]["aws"].buckets["artifacts"].keys.items():
            if name.startswith(f"{prefix}/"):
                key.last_modified = utcnow() - timedelta(seconds=seconds)

    def close(self) -> None:
        self._server.shutdown()

    def _answer(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        asked = f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']}?{environ['QUERY_STRING']}"
        status = self.fault(asked)
        if status is None:
            return self._inside(environ, start)
        environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        start(f"{status} told to", [("Content-Length", "0")])
        return [b""]


@pytest.fixture(scope="session")
def _s3_server() -> Iterator[S3]:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", "test")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "test")
        server = S3()
        yield server
        server.close()


@pytest.fixture
def s3(_s3_server: S3) -> Iterator[S3]:
    """A server that speaks S3, with the bucket `artifacts`; its credentials are in the environment."""
    yield _s3_server
    _s3_server.fault = lambda request: None
