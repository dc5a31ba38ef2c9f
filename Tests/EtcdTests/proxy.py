#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Forwards TCP connections from a free port to another, and breaks them on command.

usage: proxy.py HOST PORT. Prints its own port, then "ok" after each command read from standard input:
  drop    closes all connections, and accepts none
  hang    keeps all connections, and forwards nothing
  delay MILLISECONDS    forwards each piece so much later, however many are on the way
  swallow    forwards all but what the server sends in streams that the client has not ended: in gRPC, those of watches
  allow   forwards again; what was swallowed is lost
  count   answers how many connections were made so far, refused ones included
It ends with its standard input.
"""
import asyncio
import sys

mode, delay, flowing, writers, accepted = "allow", 0.0, asyncio.Event(), set(), 0
PREFACE, DATA, HEADERS, WINDOW_UPDATE, END_STREAM = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 0, 1, 8, 1


class Watches:
    """Finds the streams of an HTTP/2 connection that the client has not ended, by the flags of its frames. Headers pass: they share a table."""

    def __init__(self):
        self.client, self.server, self.ended, self.begun, self.is_http2 = b"", b"", set(), False, True

    def from_client(self, piece):
        if not self.is_http2:
            return piece
        self.client += piece
        if not self.begun:
            if len(self.client) < len(PREFACE) and PREFACE.startswith(self.client):
                return b""
            self.is_http2, self.begun = self.client.startswith(PREFACE), True
            if not self.is_http2:
                return self.client
            passed, self.client = PREFACE, self.client[len(PREFACE):]
        else:
            passed = b""
        for kind, flags, stream, frame in self.frames("client"):
            if kind in (DATA, HEADERS) and flags & END_STREAM:
                self.ended.add(stream)
            passed += frame
        return passed

    def from_server(self, piece):
        """Returns the bytes for the client, and the bytes for the server: window updates for frames that are swallowed."""
        if not self.is_http2:
            return piece, b""
        self.server += piece
        passed = room = b""
        for kind, _, stream, frame in self.frames("server"):
            if mode == "swallow" and kind == DATA and stream not in self.ended:
                length = len(frame) - 9
                if length:
                    for target in (0, stream):
                        room += bytes([0, 0, 4, WINDOW_UPDATE, 0]) + target.to_bytes(4, "big") + length.to_bytes(4, "big")
            else:
                passed += frame
        return passed, room

    def frames(self, side):
        rest = getattr(self, side)
        while len(rest) >= 9 and len(rest) >= 9 + int.from_bytes(rest[:3], "big"):
            length = 9 + int.from_bytes(rest[:3], "big")
            frame, rest = rest[:length], rest[length:]
            yield frame[3], frame[4], int.from_bytes(frame[5:9], "big") & 0x7FFFFFFF, frame
        setattr(self, side, rest)


async def send(queue, writer):
    """Writes pieces when they are due."""
    try:
        while item := await queue.get():
            due, piece = item
            await asyncio.sleep(max(0.0, due - asyncio.get_running_loop().time()))
            await flowing.wait()
            writer.write(piece)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()


async def receive(reader, pass_on, queue):
    try:
        while piece := await reader.read(65536):
            await flowing.wait()
            pass_on(piece)
    except OSError:
        pass
    finally:
        await queue.put(None)


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
    watches, up, down = Watches(), asyncio.Queue(), asyncio.Queue()

    def put(queue, piece):
        if piece:
            queue.put_nowait((asyncio.get_running_loop().time() + delay, piece))

    def pass_down(piece):
        passed, room = watches.from_server(piece)
        put(down, passed)
        put(up, room)

    await asyncio.gather(
        receive(reader, lambda piece: put(up, watches.from_client(piece)), up),
        receive(target[0], pass_down, down),
        send(up, target[1]),
        send(down, writer),
    )
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
