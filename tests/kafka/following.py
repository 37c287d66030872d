"""A consumer in a process of its own that gets killed: it notes each value and commits now and then.

following.py ADDRESS TOPIC FILE KILL: appends a line with the number of the value and its offset for each value, and is
killed (-9) when it has noted KILL of them.
"""

from __future__ import annotations

import os
import signal
import sys

from confluent_kafka import DeserializingConsumer

from jelly.kafka import JellyDeserializer

EVERY = 50  # values from one commit to the next


def main() -> None:
    address, topic, notes, kill = sys.argv[1:]
    consumer = DeserializingConsumer({
        "bootstrap.servers": address,
        "group.id": "following",
        # The next process with this name takes the place of the one that was killed, without waiting for its session.
        "group.instance.id": "the only one",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "value.deserializer": JellyDeserializer(),
    })  # fmt: skip
    consumer.subscribe([topic])
    seen = 0
    with open(notes, "a", buffering=1) as file:
        while True:
            message = consumer.poll(0.1)
            if message is None:
                continue
            [statement] = message.value()
            file.write(f"{statement.o.value} {message.offset()}\n")
            seen += 1
            if seen == int(kill):
                os.kill(os.getpid(), signal.SIGKILL)
            if seen % EVERY == 0:
                consumer.commit(asynchronous=False)


if __name__ == "__main__":
    main()
