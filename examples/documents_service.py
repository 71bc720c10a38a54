"""Documents of any size, up and down, in constant memory: CLOB values by FastAPI.

    python examples/documents_service.py
    curl -T long.txt http://127.0.0.1:8000/documents/long
    curl http://127.0.0.1:8000/documents/long

It runs on an embedded server of its own; with AIOIFX_DSN set, on that Informix instead, where the table of SCHEMA must
exist. A client that hangs up ends its request: half an upload is deleted, and the connection is free for the next one.
"""

from __future__ import annotations

import codecs
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Annotated

import uvicorn
from fastapi import APIRouter, Depends, FastAPI, HTTPException, Request, Response
from fastapi.responses import StreamingResponse

import aioifx
import aioifx.server

DATABASE = "documents:en_US.utf8"
SCHEMA = "CREATE TABLE document (name VARCHAR(80) NOT NULL PRIMARY KEY, body CLOB)"

router = APIRouter()


async def connection(request: Request) -> AsyncIterator[aioifx.Connection]:
    pool: aioifx.Pool = request.app.state.pool
    async with pool.acquire() as conn:
        yield conn


# Released after the response: the bodies of requests and responses come and go while it is in use.
Connection = Annotated[aioifx.Connection, Depends(connection, scope="request")]


@router.put("/documents/{name}", status_code=201)
async def upload(name: str, request: Request, conn: Connection) -> None:
    """Store the body of the request, a chunk at a time."""
    try:
        await conn.execute("INSERT INTO document VALUES (?, ?)", name, text_of(request))
    except aioifx.UniqueViolation:
        raise HTTPException(409, f"there is a document {name} already") from None


async def text_of(request: Request) -> AsyncIterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")()
    async for chunk in request.stream():
        yield decoder.decode(chunk)
    yield decoder.decode(b"", final=True)


@router.get("/documents/{name}", response_class=StreamingResponse)
async def download(name: str, conn: Connection) -> Response:
    """Send the document, a chunk at a time, as fast as the client reads."""
    row = await conn.fetchrow("SELECT body FROM document WHERE name = ?", name)
    if row is None:
        raise HTTPException(404, f"there is no document {name}")
    return StreamingResponse(chunks_of(row["body"]), media_type="text/plain; charset=utf-8")


async def chunks_of(body: aioifx.Lob[str]) -> AsyncIterator[bytes]:
    async with body:
        async for text in body:
            yield text.encode()


def service(dsn: str | None = None, *, max_size: int = 10) -> FastAPI:
    """The service as an ASGI application, on *dsn*, AIOIFX_DSN, or a server of its own."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            address = dsn or os.environ.get("AIOIFX_DSN")
            if not address:
                server = aioifx.server.running(DATABASE, seed=SCHEMA)
                address = await stack.enter_async_context(server)
            pool = aioifx.create_pool(address, max_size=max_size, command_timeout=60, locale="auto")
            app.state.pool = await stack.enter_async_context(pool)
            yield

    app = FastAPI(title="Documents", lifespan=lifespan)
    app.include_router(router)
    return app


app = service()

if __name__ == "__main__":
    uvicorn.run(app, port=int(os.environ.get("PORT", "8000")))
