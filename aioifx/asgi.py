"""ASGI middleware that cancels a request after its client has disconnected. Never: a connection, a pool.

ASGI leaves this cancellation to the application; Starlette and FastAPI cancel streaming responses only. Without it,
statements of disconnected clients continue, and their connections stay acquired from the pool.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

# As in Starlette and asgiref, neither of which is needed here.
Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
ASGIApp: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]


class CancelWhenGone:
    """Cancels an HTTP request whose client disconnects before the response is complete.

    The statement that the request runs is interrupted at the server, and its connection returns to the pool. The
    unread part of a large body delays this: ASGI servers report the disconnect after the body.

    Args:
        app: the ASGI application.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request; other ASGI events, such as lifespan, are passed on unchanged."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        messages = asyncio.Queue[Message](maxsize=1)
        gone = False

        async def listen() -> None:
            nonlocal gone
            while (message := await receive())["type"] != "http.disconnect":
                await messages.put(message)
            gone = True
            request.cancel()

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.body" and not message.get("more_body"):
                listener.cancel()  # http.disconnect also arrives after a complete response
            await send(message)

        async def respond() -> None:
            await self.app(scope, messages.get, answer)

        # Not create_task: an eager task would run before both of them exist.
        request, listener = asyncio.Task(respond()), asyncio.Task(listen())
        try:
            await request
        except asyncio.CancelledError:
            if not gone:
                raise
        finally:
            listener.cancel()
