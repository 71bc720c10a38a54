"""ENCRYPT_AES, ENCRYPT_TDES, DECRYPT_CHAR, DECRYPT_BINARY, GETHINT, and their passwords. Never: SQL types.

Source: documented (Guide to SQL: Syntax, "Encryption and decryption functions", "SET ENCRYPTION PASSWORD statement"):
-26005 for a text that is not encrypted. Security Guide, "Determine the size of an encrypted column": 11 bytes of
header, then in Base64 8 bytes of initialization vector, the blocks of the data, and blocks of 8 bytes with the hint.

assumed: the bytes. A real server does not read them, nor this server those of a real one.
assumed: -26008 for another password than that of the encryption; -26007 for one that is missing or has another length,
and for a long hint; a value without a hint has the hint NULL.
"""

from __future__ import annotations

import secrets
from base64 import b64decode, b64encode
from binascii import Error
from dataclasses import dataclass
from hashlib import sha256
from hmac import digest
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from aioifx.server.sql.errors import SqlError
from aioifx.server.sql.model.settings import Settings
from aioifx.server.sql.runtime.strings import encoded, require_length

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers import Cipher
    from cryptography.hazmat.primitives.ciphers.modes import CBC

EXTRA = "" if find_spec("cryptography") else "server-crypto"
"""The extra that must be installed first; empty if it is. The package is imported with the first use."""

_NOT_ENCRYPTED: Final = -26005
_BAD_PASSWORD: Final = -26007
_WRONG_PASSWORD: Final = -26008

_SHORTEST: Final = 6
_LONGEST: Final = 128
"""Bytes of a password."""
_LONGEST_HINT: Final = 32
_MARK: Final = "~"
_HEADER: Final = 11
_VECTOR: Final = 8
_CHECK: Final = 7
"""Characters of the header that tell whether a password is the right one."""
_BLOCKS: Final = {"A": 16, "T": 8}
"""Bytes of a block of AES and Triple DES."""
_HINT_KEY: Final = "a hint needs no password"


def encrypted_size(size: int, algorithm: str, has_hint: bool) -> int:
    """The bytes of a text of *size* bytes after encryption."""
    hint = _padded(_LONGEST_HINT, _BLOCKS["T"]) if has_hint else 0
    return _HEADER + -(-(_VECTOR + _padded(size, _BLOCKS[algorithm]) + hint) // 3) * 4


def _padded(size: int, block: int) -> int:
    return (size // block + 1) * block


def checked_password(password: str, hint: str, code_set: str) -> tuple[str, str]:
    """The password and hint of a session.

    Raises:
        SqlError: -26007, one of them has another length.
    """
    _require(_SHORTEST <= len(encoded(password, code_set)) <= _LONGEST)
    _require(len(encoded(hint, code_set)) <= _LONGEST_HINT)
    return password, hint


def _require(condition: bool) -> None:
    if not condition:
        raise SqlError(_BAD_PASSWORD)


def encrypt(
    settings: Settings, text: str | None, algorithm: str, password: str | None = None, hint: str | None = None
) -> str | None:
    """ENCRYPT_AES (algorithm A) and ENCRYPT_TDES (T); without a password or hint, those of the session."""
    if text is None:
        return None
    used, used_hint = checked_password(
        settings.encryption[0] if password is None else password,
        settings.encryption[1] if hint is None else hint,
        settings.code_set,
    )
    vector = secrets.token_bytes(_VECTOR)
    data = _enciphered(algorithm, used, vector, encoded(text, settings.code_set))
    tail = _enciphered("T", _HINT_KEY, vector, encoded(used_hint, settings.code_set)) if used_hint else b""
    header = f"{_MARK}{algorithm}{len(tail):02x}{_check(used, vector, data)}"
    result = header + b64encode(vector + data + tail).decode()
    require_length(len(result))
    return result


def decrypt(settings: Settings, text: str | None, password: str | None = None) -> str | None:
    """DECRYPT_CHAR, and DECRYPT_BINARY of a text."""
    if text is None:
        return None
    value = _parsed(text)
    used, _ = checked_password(
        settings.encryption[0] if password is None else password, "", settings.code_set
    )
    if _check(used, value.vector, value.data) != value.check:
        raise SqlError(_WRONG_PASSWORD)
    return _deciphered(value.algorithm, used, value.vector, value.data).decode(settings.code_set)


def get_hint(settings: Settings, text: str | None) -> str | None:
    """GETHINT."""
    if text is None:
        return None
    value = _parsed(text)
    if not value.hint:
        return None
    return _deciphered("T", _HINT_KEY, value.vector, value.hint).decode(settings.code_set)


# -- the format --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Encrypted:
    algorithm: str
    check: str
    vector: bytes
    data: bytes
    hint: bytes


def _parsed(text: str) -> _Encrypted:
    """The parts of an encrypted value, which may have blanks after it.

    Raises:
        SqlError: -26005, it is not one.
    """
    text = text.rstrip(" ")
    try:
        algorithm, tail = text[1], int(text[2:4], 16)
        block = _BLOCKS[algorithm]
        raw = b64decode(text[_HEADER:].encode("ascii"), validate=True)
    except (IndexError, KeyError, ValueError, Error):
        raise SqlError(_NOT_ENCRYPTED) from None
    vector, data, hint = raw[:_VECTOR], raw[_VECTOR : len(raw) - tail], raw[len(raw) - tail :]
    if not text.startswith(_MARK) or not data or len(data) % block or tail % _BLOCKS["T"]:
        raise SqlError(_NOT_ENCRYPTED)
    return _Encrypted(algorithm, text[_HEADER - _CHECK : _HEADER], vector, data, hint)


def _check(password: str, vector: bytes, data: bytes) -> str:
    return b64encode(digest(password.encode(), vector + data, "sha256"))[:_CHECK].decode()


def _cipher(algorithm: str, password: str, vector: bytes) -> Cipher[CBC]:
    from cryptography.hazmat.decrepit.ciphers.algorithms import TripleDES
    from cryptography.hazmat.primitives.ciphers import Cipher
    from cryptography.hazmat.primitives.ciphers.algorithms import AES
    from cryptography.hazmat.primitives.ciphers.modes import CBC

    key = sha256(password.encode()).digest()
    if algorithm == "A":
        return Cipher(AES(key[:16]), CBC(sha256(vector).digest()[:16]))
    return Cipher(TripleDES(key[:24]), CBC(vector))


def _enciphered(algorithm: str, password: str, vector: bytes, data: bytes) -> bytes:
    fill = _padded(len(data), _BLOCKS[algorithm]) - len(data)
    encryptor = _cipher(algorithm, password, vector).encryptor()
    return encryptor.update(data + bytes((fill,)) * fill) + encryptor.finalize()


def _deciphered(algorithm: str, password: str, vector: bytes, data: bytes) -> bytes:
    decryptor = _cipher(algorithm, password, vector).decryptor()
    padded = decryptor.update(data) + decryptor.finalize()
    return padded[: -padded[-1]]
