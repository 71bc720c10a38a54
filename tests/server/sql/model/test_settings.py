from __future__ import annotations

from datetime import date, datetime

from aioifx.server.sql.model.settings import Settings, Version


def test_today_is_the_day_of_now() -> None:
    assert Settings(now=datetime(2026, 5, 4, 23, 59, 59)).today == date(2026, 5, 4)


def test_the_full_version_names_the_product_and_all_its_parts() -> None:
    assert Version("Informix Dynamic Server", "12", "10", "F", "C9").full == (
        "Informix Dynamic Server Version 12.10.FC9"
    )


def test_two_sessions_do_not_share_settings() -> None:
    first, second = Settings(), Settings()
    first.last_serial = 7
    assert second.last_serial == 0
