"""FastAPI Users, with the models and databases of the page about libraries: register, log in, change, log out."""

from __future__ import annotations

import uuid

import httpx
import pytest
from fastapi import Depends, FastAPI
from fastapi_users import BaseUserManager, FastAPIUsers, UUIDIDMixin, schemas
from fastapi_users.authentication import AuthenticationBackend, BearerTransport
from fastapi_users.authentication.strategy.db import DatabaseStrategy
from page import run_example
from suite_plugin import URL


class UserManager(UUIDIDMixin, BaseUserManager):
    reset_password_token_secret = verification_token_secret = "secret" * 8


@pytest.fixture
async def client():
    shop = run_example("FastAPI Users", 0, {"__name__": "shop"}, URL)
    async with shop["engine"].begin() as conn:
        await conn.run_sync(shop["Base"].metadata.create_all)

    async def get_manager(user_db=Depends(shop["get_user_db"])):  # noqa: B008
        yield UserManager(user_db)

    def get_strategy(tokens=Depends(shop["get_token_db"])):  # noqa: B008
        return DatabaseStrategy(tokens, lifetime_seconds=3600)

    transport = BearerTransport("login")
    backend = AuthenticationBackend(name="db", transport=transport, get_strategy=get_strategy)
    users = FastAPIUsers(get_manager, [backend])
    app = FastAPI()
    app.include_router(users.get_auth_router(backend))
    app.include_router(users.get_register_router(schemas.BaseUser[uuid.UUID], schemas.BaseUserCreate))
    app.include_router(users.get_users_router(schemas.BaseUser[uuid.UUID], schemas.BaseUserUpdate))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as client:
        yield client
    async with shop["engine"].begin() as conn:
        await conn.run_sync(shop["Base"].metadata.drop_all)
    await shop["engine"].dispose()


async def test_a_user_registers_and_logs_in_and_out(client):
    ada = {"email": "ada@example.com", "password": "engine"}
    made = (await client.post("/register", json=ada)).json()
    assert uuid.UUID(made["id"]) and made["is_active"] is True
    again = await client.post("/register", json=ada | {"email": "ADA@example.com"})
    assert (again.status_code, again.json()["detail"]) == (400, "REGISTER_USER_ALREADY_EXISTS")
    assert (await client.get("/me")).status_code == 401
    login = await client.post("/login", data={"username": ada["email"], "password": ada["password"]})
    client.headers["Authorization"] = f"Bearer {login.json()['access_token']}"
    assert (await client.get("/me")).json() == made
    changed = await client.patch("/me", json={"email": "lovelace@example.com"})
    assert changed.json() == made | {"email": "lovelace@example.com"}
    assert (await client.post("/logout")).status_code == 204
    assert (await client.get("/me")).status_code == 401
