"""BSON values that Python lacks, as columns of the type BSON return them. Never: their bytes."""

from __future__ import annotations

from aioifx.codecs.bson import BsonKind, BsonValue, ObjectId

__all__ = ["BsonKind", "BsonValue", "ObjectId"]
