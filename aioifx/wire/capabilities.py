"""The negotiated capability bits, and the layouts that depend on them. Never: the exchange that negotiates.

Bits are numbered from the most significant bit of byte 0. The bits in force are the AND of offer and reply. Observed:
with an eight-byte offer, a 15 server used the short layouts although its reply has bits 69 and 70. JDBC offers 52, 54
and 62, and reads the short layouts if the reply lacks them (observed). Bits 13, 50 and 63 have no effect on layouts.
Without them JDBC reads unpadded VARCHARs and an int in SQ_DESCRIBE, and sends an int in SQ_NFETCH (observed). Short
forms of these are known only from an 11.50 that answered the login with protocol level 307. Such a server is rejected.
Assumed: servers from 12.10 on have bits 2, 34, 54, 56 and 62 (observed: 12.10, 14.10 and 15).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

OFFERED: Final = bytes.fromhex("fffc7ffc3c8caa9706")
"""The client's offer: the nine bytes of JDBC 15 (observed: JDBC; a 15 server answers with bits 69 and 70)."""

SERVER_MASK: Final = bytes.fromhex("bdbe9ffe7fb7ffefff")
"""The reply of a 15.0.1 server (observed)."""

_TYPE_NAMES: Final = 2
_DESCRIBE_INPUT: Final = 34
_PAM: Final = 44
_BIGINT: Final = 54
_NAMED_PARAMETERS: Final = 52
_SAVEPOINTS: Final = 56
_LONG_TEXT: Final = 62
_LONG_TUPLE: Final = 69
_LONG_ROWID: Final = 70


def has_bit(mask: bytes, bit: int) -> bool:
    """Whether *bit* is set in *mask*; bits after its end are unset."""
    return bit // 8 < len(mask) and bool(mask[bit // 8] & (0x80 >> bit % 8))


def with_pam(mask: bytes) -> bytes:
    """*mask* with bit 44, as a server with PAM sends it."""
    changed = bytearray(mask.ljust(_PAM // 8 + 1, b"\0"))
    changed[_PAM // 8] |= 0x80 >> _PAM % 8
    return bytes(changed)


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The layouts in force on one connection, and the encoding of its text."""

    encoding: str = "latin-1"
    type_names: bool = True
    """Bit 2: descriptions and binds include the names of extended types."""
    describe_input: bool = True
    """Bit 34: SQ_CIDESCRIBE is answered."""
    pam: bool = False
    """Bit 44: a PAM challenge follows."""
    named_parameters: bool = True
    """Bit 52: the count in SQ_IDESCRIBE is followed by a short."""
    bigint: bool = True
    """Bit 54: SQ_INSERTDONE has a BIGSERIAL."""
    savepoints: bool = True
    """Bit 56."""
    long_text: bool = True
    """Bit 62: the size of SQL text and the offset of an error are ints."""
    long_tuple: bool = False
    """Bit 69: the row size in SQ_DESCRIBE is an int."""
    long_rowid: bool = False
    """Bit 70: row counts and row ids in SQ_DONE have eight bytes."""

    @classmethod
    def negotiated(cls, offer: bytes, reply: bytes, encoding: str = "latin-1") -> Self:
        """The capabilities in both an offer and the reply to it."""

        def both(bit: int) -> bool:
            return has_bit(offer, bit) and has_bit(reply, bit)

        return cls(
            encoding=encoding,
            type_names=both(_TYPE_NAMES),
            describe_input=both(_DESCRIBE_INPUT),
            pam=both(_PAM),
            named_parameters=both(_NAMED_PARAMETERS),
            bigint=both(_BIGINT),
            savepoints=both(_SAVEPOINTS),
            long_text=both(_LONG_TEXT),
            long_tuple=both(_LONG_TUPLE),
            long_rowid=both(_LONG_ROWID),
        )
