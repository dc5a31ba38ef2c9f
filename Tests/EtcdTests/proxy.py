#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Forwards TCP connections from a free port to another, and breaks them on command.

usage: proxy.py HOST PORT. Prints its own port, then "ok" after each command read from standard input:
  drop    closes all connections, and accepts none
  hang    keeps all connections, and forwards nothing
  delay MILLISECONDS    forwards each piece so much later
  allow   forwards again
  count   answers how many connections were made so far, refused ones included
It ends with its standard input.
"""
import asyncio
import sys

mode, delay, flowing, writers, accepted = "allow", 0.0, asyncio.Event(), set(), 0


async def pump(reader, writer):
    try:
        while piece := await reader.read(65536):
            await flowing.wait()
            if delay:
                await asyncio.sleep(delay)
            writer.write(piece)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()


async def accept(reader, writer):
    global accepted
    accepted += 1
    if mode == "drop":
        writer.transport.abort()
        return
    try:
        target = await asyncio.open_connection(sys.argv[1], int(sys.argv[2]))
    except OSError:
        writer.transport.abort()
        return
    pair = {writer, target[1]}
    writers.update(pair)
    await asyncio.gather(pump(reader, target[1]), pump(target[0], writer))
    writers.difference_update(pair)


async def main():
    global mode, delay
    flowing.set()
    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    commands = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(commands), sys.stdin)
    while words := (await commands.readline()).decode().split():
        if words[0] == "count":
            print(accepted, flush=True)
            continue
        mode = words[0]
        delay = float(words[1]) / 1000 if mode == "delay" else 0.0
        if mode == "hang":
            flowing.clear()
        else:
            flowing.set()
        if mode == "drop":
            for writer in list(writers):
                writer.transport.abort()
        print("ok", flush=True)


asyncio.run(main())
