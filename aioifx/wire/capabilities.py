"""What both ends agreed on: capability bits and the layouts that follow them. Never: how an agreement is reached.

Bits are numbered from the most significant bit of byte 0. What is in force is the AND of offer and reply (observed: an
eight-byte offer kept a 15 server on the short layouts although its reply has bits 69 and 70; JDBC, which offers 54 and
62, reads the short layouts where the reply lacks them). Bits 13, 50 and 63 switch nothing: without them JDBC reads
unpadded VARCHARs and an int in SQ_DESCRIBE, and sends an int in SQ_NFETCH (observed). Short forms of these are known
only from an 11.50 that answered the login with protocol level 307; such a server is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

OFFERED: Final = bytes.fromhex("fffc7ffc3c8caa9706")
"""What the client offers: the nine bytes of JDBC 15 (observed: JDBC; a 15 server answers with bits 69 and 70)."""

SERVER_MASK: Final = bytes.fromhex("bdbe9ffe7fb7ffefff")
"""What a 15.0.1 server answers (observed)."""

_TYPE_NAMES: Final = 2
_DESCRIBE_INPUT: Final = 34
_PAM: Final = 44
_BIGINT: Final = 54
_SAVEPOINTS: Final = 56
_LONG_TEXT: Final = 62
_LONG_TUPLE: Final = 69
_LONG_ROWID: Final = 70


def has_bit(mask: bytes, bit: int) -> bool:
    """Whether *bit* is set in *mask*; bits past its end are not."""
    return bit // 8 < len(mask) and bool(mask[bit // 8] & (0x80 >> bit % 8))


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The layouts in force on one connection, and the code set in which text travels."""

    encoding: str = "latin-1"
    type_names: bool = True
    """Bit 2: descriptions and binds name extended types."""
    describe_input: bool = True
    """Bit 34: SQ_CIDESCRIBE is answered."""
    pam: bool = False
    """Bit 44: a challenge conversation follows."""
    bigint: bool = True
    """Bit 54: SQ_INSERTDONE carries a BIGSERIAL."""
    savepoints: bool = True
    """Bit 56."""
    long_text: bool = True
    """Bit 62: SQL text and error offsets are counted with ints."""
    long_tuple: bool = False
    """Bit 69: SQ_DESCRIBE gives the row's size as an int."""
    long_rowid: bool = False
    """Bit 70: SQ_DONE counts rows and row ids with eight bytes."""

    @classmethod
    def negotiated(cls, offer: bytes, reply: bytes, encoding: str = "latin-1") -> Self:
        """The capabilities that follow from an offer and the reply to it."""

        def both(bit: int) -> bool:
            return has_bit(offer, bit) and has_bit(reply, bit)

        return cls(
            encoding=encoding,
            type_names=both(_TYPE_NAMES),
            describe_input=both(_DESCRIBE_INPUT),
            pam=both(_PAM),
            bigint=both(_BIGINT),
            savepoints=both(_SAVEPOINTS),
            long_text=both(_LONG_TEXT),
            long_tuple=both(_LONG_TUPLE),
            long_rowid=both(_LONG_ROWID),
        )
