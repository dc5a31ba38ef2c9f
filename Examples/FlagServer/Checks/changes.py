#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Changes flags, every tenth time two as one, at a steady rate, over several connections, and prints how it went as JSON.

changes.py HOST PORT RATE COUNT: COUNT changes, RATE of them a second, each due at its own time whatever became of those before.
"""

import asyncio
import json
import random
import sys
import time

CONNECTIONS = 64


async def send(reader, writer, method, path, body):
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write((head + body).encode())
    answer = await reader.readuntil(b"\r\n\r\n")
    status = int(answer.split(b" ", 2)[1])
    for line in answer.split(b"\r\n"):
        if line.lower().startswith(b"content-length:"):
            await reader.readexactly(int(line.split(b":")[1]))
    return status


async def work(host, port, names, rate, tickets, start, times):
    reader, writer = await asyncio.open_connection(host, port)
    for ticket in tickets:
        due = start + ticket / rate
        await asyncio.sleep(max(0, due - time.monotonic()))
        flag = {"enabled": random.Random(ticket).random() < 0.5, "rollout": ticket % 101}
        name = names[ticket % len(names)]
        if ticket % 10 == 0:
            other = names[(ticket + 1) % len(names)]
            status = await send(reader, writer, "PATCH", "/flags", json.dumps({name: flag, other: flag}))
        else:
            status = await send(reader, writer, "PUT", f"/flags/{name}", json.dumps(flag))
        if status != 200:
            sys.exit(f"changes: a change was answered {status}")
        # The time counts from when the change was due: a server that stalls delays all later ones.
        times.append(time.monotonic() - due)
    writer.close()


async def main(host, port, rate, count, names):
    times = []
    tickets = iter(range(count))
    start = time.monotonic()
    await asyncio.gather(*(work(host, port, names, rate, tickets, start, times) for _ in range(CONNECTIONS)))
    seconds = time.monotonic() - start
    times.sort()
    print(json.dumps({
        "changes": len(times),
        "seconds": seconds,
        "median": times[len(times) // 2],
        "p99": times[len(times) * 99 // 100],
    }))


if __name__ == "__main__":
    host, port, rate, count, *names = sys.argv[1:]
    asyncio.run(main(host, int(port), float(rate), int(count), names))
