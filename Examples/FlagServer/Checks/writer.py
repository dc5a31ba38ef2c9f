#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Changes a fleet's flags at a steady rate, in a process of its own, so that no reading delays it.

writer.py RATE BEGIN PORT…: change N is due N / RATE seconds after BEGIN, whatever became of those before, and goes to one server after the
other. Prints a line for each answer: N, its status, and how long after it was due, in seconds. Ends, when its input does, after the last answer.
"""

import asyncio
import json
import sys
import time

from ledger import flags_of


async def send(connections, port, number):
    """Sends a change over a connection that is free, or a new one."""
    flags = flags_of(number)
    if len(flags) == 1:
        [(name, flag)] = flags.items()
        method, path, body = "PUT", f"/flags/{name}", json.dumps(flag)
    else:
        method, path, body = "PATCH", "/flags", json.dumps(flags)
    # A server closes what was free for a minute.
    while connections and connections[-1][0].at_eof():
        connections.pop()[1].close()
    reader, writer = connections.pop() if connections else await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
    head = await reader.readuntil(b"\r\n\r\n")
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            await reader.readexactly(int(line.split(b":")[1]))
    connections.append((reader, writer))
    return int(head.split(b" ", 2)[1])


async def change(connections, port, number, due):
    status = await send(connections, port, number)
    print(number, status, time.monotonic() - due, flush=True)


async def main(rate, begin, *ports):
    input = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(input), sys.stdin)
    ended = asyncio.create_task(input.read())
    connections = [[] for _ in ports]
    number, changes = 0, set()
    while not ended.done():
        due = begin + number / rate
        await asyncio.wait([ended], timeout=max(0, due - time.monotonic()))
        if ended.done():
            break
        which = number % len(ports)
        task = asyncio.create_task(change(connections[which], ports[which], number, due))
        changes.add(task)
        task.add_done_callback(changes.discard)
        number += 1
    await asyncio.gather(*changes)


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1]), float(sys.argv[2]), *map(int, sys.argv[3:])))
