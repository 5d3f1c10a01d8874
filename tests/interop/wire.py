"""The wire of Danaus, spoken without any of its code: ZeroMQ and MessagePack alone.

What is here is what a program in another language needs: a peer that sends requests and casts, and,
for what no ZeroMQ library would send, a connection that speaks ZMTP 3.0 (rfc.zeromq.org/spec/23) byte
by byte. `Worker` starts the process under test.
"""

import itertools
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import time

import msgpack
import zmq

VERSION = 1
PATIENCE_S = 40


class ManagerError(Exception):
    """An `Err` reply."""

    def __init__(self, error):
        super().__init__(f"{error['code']}: {error['message']}")
        self.code = error["code"]
        self.message = error["message"]
        self.details = error.get("details", {})


class NoReply(Exception):
    """No reply came in time."""


def header(kind, number, to, sender, **more):
    """The header of a message, as a map."""
    return {"version": VERSION, "kind": kind, "id": number, "to": to, "from": sender, **more}


def body(name, fields):
    """The body of a request or a cast: an enum's variant, as serde writes it."""
    return {name: fields}


class Peer:
    """Someone who asks managers, over one DEALER socket for each."""

    def __init__(self, identity="interop"):
        self.identity = identity
        self.context = zmq.Context()
        self.sockets = {}
        self.numbers = itertools.count(1)

    def close(self):
        self.context.destroy(linger=0)

    def socket_to(self, at, routing_id=None):
        key = (at, routing_id)
        if key not in self.sockets:
            dealer = self.context.socket(zmq.DEALER)
            dealer.setsockopt(zmq.LINGER, 0)
            if routing_id is not None:
                dealer.setsockopt(zmq.ROUTING_ID, routing_id)
            dealer.connect(at)
            self.sockets[key] = dealer
        return self.sockets[key]

    def header(self, kind, ref, **more):
        sender = {"id": self.identity, "at": ""}
        return header(kind, next(self.numbers), {"id": ref["id"]}, sender, **more)

    def send(self, ref, parts, routing_id=None):
        """Sends parts just as they are."""
        self.socket_to(ref["at"], routing_id).send_multipart(parts)

    def receive(self, ref, timeout_s=PATIENCE_S, routing_id=None):
        """The next message from there: its header and its body."""
        dealer = self.socket_to(ref["at"], routing_id)
        if not dealer.poll(timeout_s * 1000):
            raise NoReply(f"nothing from {ref['id']}@{ref['at']} in {timeout_s} s")
        head, content = dealer.recv_multipart()
        return msgpack.unpackb(head), msgpack.unpackb(content)

    def exchange(self, ref, head, content, routing_id=None):
        """Sends a request of any shape and returns the reply to it, header and body."""
        self.send(ref, [msgpack.packb(head), msgpack.packb(content)], routing_id)
        while True:
            reply_head, reply = self.receive(ref, routing_id=routing_id)
            if reply_head["id"] == head["id"]:
                return reply_head, reply

    def ask(self, ref, name, /, **fields):
        """The `Ok` of a request's reply; raises ManagerError for an `Err`."""
        head = self.header("request", ref, timeout_ms=PATIENCE_S * 1000)
        _, reply = self.exchange(ref, head, body(name, fields))
        return value_of(reply)

    def cast(self, ref, name, /, **fields):
        self.send(ref, [msgpack.packb(self.header("cast", ref)), msgpack.packb(body(name, fields))])


def value_of(reply):
    if "Err" in reply:
        raise ManagerError(reply["Err"])
    return reply["Ok"]


class ZmtpConnection:
    """One ZMTP 3.0 connection with the NULL mechanism, for what no library would send."""

    GREETING = (b"\xff" + bytes(8) + b"\x7f" + b"\x03\x00" + b"NULL".ljust(20, b"\0") + b"\0"
                + bytes(31))
    MORE, LONG, COMMAND = 1, 2, 4

    def __init__(self, at, identity=b""):
        host, port = at.removeprefix("tcp://").rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout=PATIENCE_S)
        self.socket.sendall(self.GREETING)
        self.read(len(self.GREETING))
        ready = b"\x05READY" + self.property(b"Socket-Type", b"DEALER")
        ready += self.property(b"Identity", identity)
        self.send_frame(ready, self.COMMAND)
        flags, _ = self.read_frame()
        assert flags & self.COMMAND, "the peer did not answer READY"

    @staticmethod
    def property(name, value):
        return bytes([len(name)]) + name + struct.pack(">I", len(value)) + value

    def close(self):
        self.socket.close()

    def read(self, size):
        data = b""
        while len(data) < size:
            chunk = self.socket.recv(size - len(data))
            if not chunk:
                raise ConnectionError("the peer closed the connection")
            data += chunk
        return data

    def send_frame(self, content, flags=0):
        if len(content) > 255:
            self.socket.sendall(struct.pack(">BQ", flags | self.LONG, len(content)) + content)
        else:
            self.socket.sendall(bytes([flags, len(content)]) + content)

    def read_frame(self):
        flags = self.read(1)[0]
        size = struct.unpack(">Q", self.read(8))[0] if flags & self.LONG else self.read(1)[0]
        return flags, self.read(size)

    def send(self, parts):
        for part in parts[:-1]:
            self.send_frame(part, self.MORE)
        self.send_frame(parts[-1])

    def receive(self):
        """The next message's parts; commands (heartbeats) are passed over."""
        parts = []
        while True:
            flags, content = self.read_frame()
            if not flags & self.COMMAND:
                parts.append(content)
                if not flags & self.MORE:
                    return parts

    def is_closed_by_peer(self):
        """Waits for the end of the connection."""
        try:
            while self.socket.recv(65536):
                pass
        except ConnectionError:
            pass
        except TimeoutError:
            return False
        return True


class Worker:
    """A `danaus worker` that serves."""

    def __init__(self, danaus, identity, *arguments):
        self.danaus = danaus
        command = [danaus, "worker", "--identity", identity, "--bind", "tcp://127.0.0.1:*",
                   *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE)
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{' '.join(command)} ended with {self.process.wait()}")
        self.reference = json.loads(line)["ref"]
        name, at = self.reference.split("@", 1)
        self.ref = {"id": name, "at": at}

    def run(self, *arguments):
        """Another subcommand of the same program."""
        subprocess.run([self.danaus, *arguments], check=True, stdout=subprocess.DEVNULL,
                       timeout=PATIENCE_S)

    def resident_bytes(self):
        with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGESIZE")

    def terminate(self):
        """SIGTERM; its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE_S)

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def eventually(condition, patience_s=PATIENCE_S):
    """Asks until it holds; False when the time is over. For state that announces itself by nothing."""
    deadline = time.monotonic() + patience_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        select.select([], [], [], 0.002)
    return True


def danaus_path():
    """The program under test: the first argument."""
    return sys.argv.pop(1)
