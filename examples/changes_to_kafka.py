"""Committed changes of a table to a topic of Kafka, in transactions of Kafka, with the position in each message.

    pip install aiokafka
    AIOIFX_DSN=informix://informix@db1:9088/shop?server=ol_shop KAFKA=localhost:9092 python examples/changes_to_kafka.py

A transaction of Informix is one of Kafka, so readers with `isolation_level="read_committed"` see all of it or nothing.
After a restart the producer continues behind the position of the last message: each change is sent exactly once.
"""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any

import aioifx

TABLE = os.environ.get("TABLE", "informix.orders")
TOPIC = os.environ.get("TOPIC", "orders")


async def last_position(kafka: Any, servers: str) -> aioifx.Position | None:
    """The position in the last message of the topic, which has one partition."""
    consumer = kafka.AIOKafkaConsumer(bootstrap_servers=servers, isolation_level="read_committed")
    await consumer.start()
    try:
        partition = kafka.TopicPartition(TOPIC, 0)
        consumer.assign([partition])
        end = (await consumer.end_offsets([partition]))[partition]
        for offset in range(end - 1, -1, -1):  # the last offsets are marks of transactions
            consumer.seek(partition, offset)
            messages = (await consumer.getmany(partition, timeout_ms=1000)).get(partition, [])
            if messages:
                return aioifx.Position.from_json(json.dumps(json.loads(messages[-1].value)["position"]))
        return None
    finally:
        await consumer.stop()


def message(change: aioifx.Change, position: aioifx.Position) -> bytes:
    row = {"kind": change.kind, "position": json.loads(position.to_json())}
    for name, image in (("before", change.before), ("after", change.after)):
        row[name] = None if image is None else image.asdict()
    return json.dumps(row, default=str).encode()


async def main() -> None:
    import aiokafka as kafka  # pyright: ignore[reportMissingImports]

    servers = os.environ.get("KAFKA", "localhost:9092")
    async with kafka.AIOKafkaProducer(
        bootstrap_servers=servers, transactional_id=f"aioifx-{TOPIC}"
    ) as producer:  # its start ends the transactions of a former producer, so that the last message is known
        start = await last_position(kafka, servers)
        async with aioifx.changes(os.environ["AIOIFX_DSN"], [TABLE], start=start) as changes:
            async for transaction in changes:
                assert transaction.position is not None  # only a snapshot has none
                async with producer.transaction():
                    for change in transaction:
                        await producer.send(TOPIC, message(change, transaction.position), partition=0)


if __name__ == "__main__":
    asyncio.run(main())
