"""The pages and the answers of a session, over HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from halfmoon.labeller._labels import NotReadyError
from halfmoon.labeller._security import Guard
from halfmoon.labeller._session import Session
from halfmoon.labeller._static import MEDIA, static_files

__all__ = ["Events", "make_app"]

Endpoint = Callable[[Request], Awaitable[Response]]
LOOK = 0.5  # seconds after which a silent stream looks whether the server is ending
SAVED = {"csv": ".labels.csv", "parquet": ".labels.parquet", "model": ".hm"}


class Events:
    """Events of a session for any number of pages, each with a queue of its own in the loop of the server.

    Parameters
    ----------
    session : Session
        Where they happen.
    is_ending : callable
        Returns whether the server is ending: streams end then, and do not keep it waiting.
    """

    def __init__(self, session: Session, is_ending: Callable[[], bool]) -> None:
        self.session, self.is_ending = session, is_ending
        self._queues: set[asyncio.Queue[str]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        session.subscribe(self._on_event)

    def _on_event(self, event: str, data: dict[str, Any]) -> None:
        """Hand an event over, from the thread in which it happens."""
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._spread, f"event: {event}\ndata: {json.dumps(data)}\n\n")

    def _spread(self, text: str) -> None:
        for queue in self._queues:
            queue.put_nowait(text)

    async def stream(self) -> AsyncIterator[str]:
        """Yield what a page has to know: the state, then every event."""
        self._loop = asyncio.get_running_loop()
        queue: asyncio.Queue[str] = asyncio.Queue()
        self._queues.add(queue)
        try:
            yield f"retry: 500\nevent: labels\ndata: {json.dumps(self.session.state())}\n\n"
            while not self.is_ending():
                with suppress(TimeoutError):
                    yield await asyncio.wait_for(queue.get(), LOOK)
                    continue
                yield ": alive\n\n"  # a comment; where nobody listens any more, this is noticed
        finally:
            self._queues.discard(queue)


def make_app(session: Session, events: Events, *, port: int, token: str) -> Starlette:
    """Return the application that serves a session to pages that know the token."""

    async def state(request: Request) -> Response:
        return JSONResponse(session.state())

    async def act(request: Request) -> Response:
        return JSONResponse(await run_in_threadpool(session.act, await _body(request)))

    async def save(request: Request) -> Response:
        what = (await _body(request)).get("what")
        if not isinstance(what, str) or what not in SAVED:
            raise HTTPException(400, f"{what!r} cannot be saved. Use {', '.join(SAVED)}.")
        path = (session.folder / f"{session.title}{SAVED[what]}").resolve()
        await run_in_threadpool(session.save_model if what == "model" else session.save_labels, path)
        return JSONResponse({"path": str(path)})

    async def positions(request: Request) -> Response:
        return Response(session.positions.astype("<f4").tobytes(), media_type="application/octet-stream")

    async def predictions(request: Request) -> Response:
        return Response(session.predictions.pack(), media_type="application/octet-stream")

    async def item(request: Request) -> Response:
        return JSONResponse(await run_in_threadpool(session.item, request.path_params["row"]))

    async def explain(request: Request) -> Response:
        return JSONResponse(await run_in_threadpool(session.explain, request.path_params["row"]))

    async def picture(request: Request) -> Response:
        png = await run_in_threadpool(session.picture, request.path_params["row"])
        if png is None:
            raise HTTPException(404, "This row has no picture.")
        return Response(png, media_type="image/png")

    async def stream(request: Request) -> Response:
        return StreamingResponse(events.stream(), media_type="text/event-stream")

    routes = [
        Route("/", _page),
        Route("/static/{name}", _static),
        Route("/api/state", state),
        Route("/api/events", stream),
        Route("/api/act", act, methods=["POST"]),
        Route("/api/save", save, methods=["POST"]),
        Route("/api/positions", positions),
        Route("/api/predictions", predictions),
        Route("/api/item/{row:int}", item),
        Route("/api/explain/{row:int}", explain),
        Route("/api/picture/{row:int}", picture),
    ]
    handlers: Any = {ValueError: _refused, OSError: _refused, HTTPException: _failed}
    return Starlette(routes=routes, middleware=[Middleware(Guard, port=port, token=token)], exception_handlers=handlers)


async def _page(request: Request) -> Response:
    return Response(static_files()["index.html"], media_type="text/html")


async def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in static_files():
        raise HTTPException(404, "There is no such file.")
    return Response(static_files()[name], media_type=MEDIA[Path(name).suffix])


async def _body(request: Request) -> dict[str, Any]:
    """Return the JSON object that a request holds."""
    try:
        body = json.loads(await request.body())
    except (ValueError, RecursionError):  # no JSON, or brackets in brackets in brackets
        body = None
    if not isinstance(body, dict):
        raise HTTPException(400, "The body must be a JSON object.")
    return body


async def _refused(request: Request, error: Exception) -> Response:
    """Answer what the session says about a mistake."""
    return PlainTextResponse(str(error), status_code=503 if isinstance(error, NotReadyError) else 400)


async def _failed(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return PlainTextResponse(error.detail, status_code=error.status_code)
