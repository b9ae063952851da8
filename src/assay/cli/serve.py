"""`assay serve`: a model package behind HTTP, on this machine alone and with a token unless told otherwise."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import secrets
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from ..base.errors import UsageError, plain
from .main import OK, common_options
from .output import messages, print_json

LOCAL = ("127.0.0.1", "localhost", "::1")


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--port", default=8000, show_default=True, type=click.IntRange(0, 65535), help="0 takes a free one.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--allowed-host", multiple=True, metavar="NAME[:PORT]", help="Name under which clients reach the server.")
@click.option("--token", envvar="ASSAY_TOKEN", help="Token of the clients; a fresh one by default.", show_envvar=True)
@click.option("--no-token", is_flag=True, help="Ask for no token (on this machine alone).")
@click.option("--max-bytes", default=10_000_000, show_default=True, type=click.IntRange(1), help="Of one request.")
@click.option("--max-rows", default=100_000, show_default=True, type=click.IntRange(1), help="Of one request.")
@click.option("--timeout", default=30.0, show_default=True, type=click.FloatRange(0, min_open=True), help="Seconds.")
@common_options
def serve(
    model: Path,
    port: int,
    host: str,
    allowed_host: tuple[str, ...],
    token: str | None,
    no_token: bool,
    max_bytes: int,
    max_rows: int,
    timeout: float,
    quiet: bool,
    as_json: bool,
) -> int:
    """Serve the MODEL of a package: POST /predict, GET /health, /metrics and /openapi.json.

    Clients send `Authorization: Bearer TOKEN`. Ctrl-C or SIGTERM stops: what was accepted is answered first.
    """

    try:
        import uvicorn

        put_off("scipy.stats")
        with without_pandas():
            from ..deploy.server import Limits, Server
    except ModuleNotFoundError as error:
        raise UsageError(
            "serve", "the server", f"needs '{plain(error.name)}'", way_out="install it with: pip install 'assay[serve]'"
        ) from None
    from ..deploy import open_package

    local = host in LOCAL
    if not local and (no_token or not token or not allowed_host):
        raise UsageError(
            "serve",
            f"option --host '{plain(host)}'",
            "opens the server to other machines and needs --token and --allowed-host",
            way_out="or leave it at 127.0.0.1",
        )
    with messages(quiet) as tell:
        package = open_package(model)
        try:
            listener = bound_socket(host, port)
        except OSError as error:
            came = f"cannot be used ({error.strerror or error})"
            raise UsageError("serve", f"port {port}", came, way_out="choose another --port") from None
        port = listener.getsockname()[1]
        token = None if no_token else token or secrets.token_urlsafe(32)
        names = {f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")} if local else set()
        names |= {name if ":" in name else f"{name}:{port}" for name in allowed_host} | set(allowed_host)
        limits = Limits(body_bytes=max_bytes, rows=max_rows, seconds=timeout)
        server = Server(package, token=token, hosts=sorted(names), limits=limits)
        url = f"http://{'[' + host + ']' if ':' in host else host}:{port}"
        if as_json:
            told = {"schema": "assay.serve/1", "url": url, "token": token, "model": package.title, "pid": os.getpid()}
            print_json(told)
            sys.stdout.flush()
        tell(f"assay: {plain(package.title)} at {url}/predict (described at {url}/openapi.json).")
        if token is not None and not as_json:
            tell(f"assay: clients send 'Authorization: Bearer {token}'.")
        config = uvicorn.Config(
            server.app,
            log_level="error",
            access_log=False,
            interface="asgi3",
            lifespan="off",
            proxy_headers=False,
            timeout_keep_alive=15,
            timeout_graceful_shutdown=int(timeout) + 5,
            limit_concurrency=1000,
            server_header=False,
            backlog=1024,
        )
        run_quietly(uvicorn.Server(config), listener)
        server.batcher.close()
        tell("assay: stopped; what was accepted has been answered.")
    return OK


@contextlib.contextmanager
def without_pandas() -> Iterator[None]:
    """Have scikit-learn imported without pandas, unless one of them is there: `sklearn.utils.fixes` loads pandas, and
    that PyArrow, where they are installed. A server has no use for these 60 MB; whoever needs pandas later imports it.

    >>> with without_pandas():
    ...     import sklearn.utils
    """
    if not sys.modules.keys() & {"pandas", "sklearn"}:
        sys.modules["pandas"] = None  # type: ignore[assignment]
        try:
            import sklearn.utils.fixes  # noqa: F401
        finally:
            del sys.modules["pandas"]
    yield


def put_off(name: str) -> None:
    """Have a module read when something of it is first used, not when it is imported: `sklearn.utils.fixes` imports
    `scipy.stats` for one function, which takes 40 MB and a third of a second that predictions seldom need.

    >>> put_off("scipy.stats")
    >>> from scipy import stats
    >>> float(stats.norm.cdf(0.0))
    0.5
    """
    spec = None if name in sys.modules else importlib.util.find_spec(name)
    if spec is None or spec.loader is None:
        return
    # Not importlib's LazyLoader, whose modules are read when they are imported a second time.
    module, loader, lock, begun = (
        importlib.util.module_from_spec(spec),
        spec.loader,
        threading.RLock(),
        threading.Event(),
    )

    def first_use(attribute: str) -> Any:
        if attribute.startswith("__") and attribute != "__all__":
            raise AttributeError(attribute)
        with lock:
            if not begun.is_set():
                begun.set()
                loader.exec_module(module)
        if attribute not in vars(module):
            raise AttributeError(f"module '{name}' has no attribute '{attribute}'")
        return vars(module)[attribute]

    module.__getattr__ = first_use  # type: ignore[method-assign]
    sys.modules[name] = module


def bound_socket(host: str, port: int) -> socket.socket:
    """A socket bound to an address, whose connections send every answer at once.

    asyncio turns Nagle's algorithm off for sockets that say they are TCP and for no others; with it, the body of an
    answer waits 40 ms for the acknowledgement of its head.

    >>> with bound_socket("127.0.0.1", 0) as listener:
    ...     listener.proto == socket.IPPROTO_TCP
    True
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
    except OSError:
        listener.close()
        raise
    return listener


def run_quietly(server: Any, listener: Any) -> None:
    """Run until SIGINT or SIGTERM; what was accepted is answered, and the process goes on to its end in order."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    @contextlib.contextmanager
    def listening() -> Iterator[None]:
        for number in before:
            signal.signal(number, server.handle_exit)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    # The server's own way raises the signal again when it has stopped.
    server.capture_signals = listening
    server.run(sockets=[listener])
