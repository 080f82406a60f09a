"""The two faces of a session: Client, whose methods wait, and AsyncClient, for asyncio.

The methods are those of Session, Transaction, Watch and Events. `_face` makes of each coroutine a
method that carries it out."""
import functools
import inspect
import os

from .edits import Transaction
from .errors import MusterError
from .link import Link, drive, drive_async, in_background, tls_for
from .people import People
from .session import Session
from .watch import Events, Watch
from .where import find_server


class _Face:
    """Passes everything that is not a method of its own on to what it is a face of."""

    def __init__(self, inner, link):
        self._inner, self._link = inner, link

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._inner, name)

    def __dir__(self):
        return [*super().__dir__(), *(name for name in dir(self._inner) if not name.startswith("_"))]

    def __repr__(self):
        return f"<{type(self).__name__} {self._link.core.welcome.world if self._link.core.welcome else ''}>"


def _waiting(method):
    @functools.wraps(method)
    def call(self, *arguments, **named):
        try:
            return self._made(drive(method(self._inner, *arguments, **named), self._link))
        except MusterError as error:
            # The frames of this package say nothing to a user.
            raise error.with_traceback(None) from None
    return call


def _asynchronous(method):
    @functools.wraps(method)
    async def call(self, *arguments, **named):
        try:
            return self._made(await drive_async(method(self._inner, *arguments, **named), self._link))
        except MusterError as error:
            raise error.with_traceback(None) from None
    return call


def _face(of, wrap):
    """Adds to a class the public coroutines of another class, wrapped."""
    def decorate(made):
        for name in dir(of):
            method = getattr(of, name)
            if not name.startswith("_") and inspect.iscoroutinefunction(method) and name not in vars(made):
                setattr(made, name, wrap(method))
        return made
    return decorate


async def _open(where, token, name, kind, timeout, cafile, fingerprint, resumes, away_max):
    """Connects and begins a session. Returns it with its link, whose event loop is the running
    one."""
    server = find_server(where, token)

    def how(found):
        return found.address, tls_for(found.address, cafile or found.cafile, fingerprint or found.fingerprint), found.token
    link = Link(timeout, resumes, away_max)
    link.find_again = lambda: how(find_server(server.file or where, token))
    await link.connect(*how(server)[:2])
    session = Session(link.core)
    session.where = server
    try:
        link.session, link.token = session, server.token
        link.hello = dict(name=name or os.environ.get("USER", ""), kind=kind, world=server.world)
        await drive_async(session._hello(server.token, link.is_trusted, **link.hello), link)
    except BaseException:
        await link.finish()
        raise
    link.welcomed()
    return session, link


# ---- waiting
# --------------------------------------------------------------------------------------


class _Waiting(_Face):
    def _made(self, result):
        face = {Watch: BlockingWatch, Events: BlockingEvents, People: BlockingPeople}.get(type(result))
        return face(result, self._link) if face else result


@_face(Transaction, _waiting)
class BlockingTransaction(_Waiting):
    __doc__ = Transaction.__doc__

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if kind is None:
            self.commit()

    def __len__(self):
        return len(self._inner)


class _BlockingStream(_Waiting):
    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self.close()

    def __iter__(self):
        return self

    def __next__(self):
        return self.next()


@_face(Watch, _waiting)
class BlockingWatch(_BlockingStream):
    __doc__ = Watch.__doc__

    def __getitem__(self, entity):
        return self._inner[entity]

    def __len__(self):
        return len(self._inner)


@_face(Events, _waiting)
class BlockingEvents(_BlockingStream):
    __doc__ = Events.__doc__


@_face(People, _waiting)
class BlockingPeople(_BlockingStream):
    __doc__ = People.__doc__


@_face(Session, _waiting)
class Client(_Waiting):
    """A session whose methods wait for their answers. Several threads may use it."""

    def transaction(self, label=""):
        return BlockingTransaction(self._inner.transaction(label), self._link)

    transaction.__doc__ = Session.transaction.__doc__

    def close(self):
        """Ends the session."""
        in_background(self._link.finish())

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self.close()


def connect(where=None, *, token=None, name=None, kind="python", timeout=10, cafile=None, fingerprint=None,
            resumes=False, away_max=None):
    """Connects to a world and returns a Client, to be used in a `with` statement or closed with
    close().

    `where` is a world file that is being served on this machine, an address "host:port",
    "host:port/world" or "unix:path" with a token, or None for the only world that is served in the
    current folder.
    `name` is shown to other users. A call that is not answered within `timeout` seconds raises
    Late. `cafile` and `fingerprint` encrypt the connection, and tell how the server is recognised:
    by a certificate authority, or by the SHA-256 of its certificate. With `resumes`, the session
    survives the loss of its connection and a restart of the server: edits without an answer are
    sent again and applied once, and watches go on. Meanwhile, a call waits for `away_max` seconds
    at most, or as long as the server keeps the session."""
    return Client(*in_background(_open(where, token, name, kind, timeout, cafile, fingerprint, resumes, away_max)))


# ---- asyncio
# --------------------------------------------------------------------------------------


class _Asynchronous(_Face):
    def _made(self, result):
        face = {Watch: AsyncWatch, Events: AsyncEvents, People: AsyncPeople}.get(type(result))
        return face(result, self._link) if face else result


@_face(Transaction, _asynchronous)
class AsyncTransaction(_Asynchronous):
    __doc__ = Transaction.__doc__

    async def __aenter__(self):
        return self

    async def __aexit__(self, kind, error, trace):
        if kind is None:
            await self.commit()

    def __len__(self):
        return len(self._inner)


class _AsyncStream(_Asynchronous):
    async def __aenter__(self):
        return self

    async def __aexit__(self, kind, error, trace):
        await self.close()

    def __aiter__(self):
        return self

    async def __anext__(self):
        return await self.next()


@_face(Watch, _asynchronous)
class AsyncWatch(_AsyncStream):
    __doc__ = Watch.__doc__

    def __getitem__(self, entity):
        return self._inner[entity]

    def __len__(self):
        return len(self._inner)


@_face(Events, _asynchronous)
class AsyncEvents(_AsyncStream):
    __doc__ = Events.__doc__


@_face(People, _asynchronous)
class AsyncPeople(_AsyncStream):
    __doc__ = People.__doc__


@_face(Session, _asynchronous)
class AsyncClient(_Asynchronous):
    """A session for asyncio. It has the methods of Client, each to be awaited."""

    def transaction(self, label=""):
        return AsyncTransaction(self._inner.transaction(label), self._link)

    transaction.__doc__ = Session.transaction.__doc__

    async def close(self):
        """Ends the session."""
        await self._link.finish()

    async def __aenter__(self):
        return self

    async def __aexit__(self, kind, error, trace):
        await self.close()


async def connect_async(where=None, *, token=None, name=None, kind="python", timeout=10, cafile=None, fingerprint=None,
                        resumes=False, away_max=None):
    """Like connect(), for asyncio: async with await connect_async("level.muster") as world."""
    return AsyncClient(*await _open(where, token, name, kind, timeout, cafile, fingerprint, resumes, away_max))
