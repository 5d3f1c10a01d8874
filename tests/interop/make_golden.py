#!/usr/bin/env python3
"""Writes messages/golden/vectors.json with python3-msgpack, from tables of its own.

The C++ codec reads these vectors, it does not make them. Run it after a message was added:
    /usr/bin/python3 tests/interop/make_golden.py
A vector that is already published must not change: version 1 keeps accepting it.
"""

import json
import pathlib

import msgpack

VECTORS = pathlib.Path(__file__).resolve().parents[2] / "messages" / "golden" / "vectors.json"

INCARNATION = bytes(range(16))
OTHER_INCARNATION = bytes(range(0xF0, 0x100))
TOKEN = bytes(range(0x20, 0x30))
GID = bytes.fromhex("00000000000000000000ffff0a000001")

ALPHA = {"id": "alpha", "at": "tcp://127.0.0.1:7001"}
BETA = {"id": "beta", "at": "tcp://[::1]:7002"}
PASSIVE = {"id": "put.7f3a", "at": ""}

SOFT_ENDPOINT = {"address": "127.0.0.1", "port": 41237, "unix": "", "token": TOKEN}
SOFT_QP = {"qp_num": 17, "lid": 0, "psn": 0xABCDEF, "soft": SOFT_ENDPOINT}
VERBS_QP = {"qp_num": 0xFFFFFF, "lid": 65535, "gid": GID, "psn": 1, "mtu": 4096,
            "max_rd_atomic": 16}

BUFFER = {
    "owner": ALPHA, "mr_id": 1, "addr": 0x7F0000000000, "size": 2**32 + 5, "rkey": 2**64 - 1,
    "lkey": 2**63, "device_name": "soft0", "transport": "soft", "incarnation": INCARNATION,
    "alternates": [],
}
TWO_DEVICE_BUFFER = BUFFER | {
    "device_name": "mlx5_0", "transport": "verbs", "rkey": 0x1234, "lkey": 0x1235,
    "alternates": [{"device_name": "soft0", "transport": "soft", "addr": 0x7F0000000000,
                    "rkey": 0xFEDCBA9876543210}],
}
DESCRIPTOR = {"transport": "soft", "self_device": "soft0", "other": BETA, "other_device": "soft0",
              "qp_num": 17, "peer_qp_num": 23, "state": 3}
KNOWN_DESCRIPTOR = DESCRIPTOR | {"incarnation": OTHER_INCARNATION}
PAIR = {"other": BETA, "self_device": "soft0", "other_device": "soft1"}
ENDS = {"self_device": "soft0", "other_device": "soft1"}
ATTEMPT = 1_790_000_000_000_000_000

MESSAGES = [
    ("RequestBuffer", "small numbers", {"addr": 4096, "size": 1}),
    ("RequestBuffer", "largest numbers", {"addr": 2**64 - 1, "size": 2**64 - 1}),
    ("RequestBuffer", "numbers at the edges of each width", {"addr": 127, "size": 128}),
    ("ReleaseBuffer", "soft", {"buffer": BUFFER}),
    ("ReleaseBuffer", "two devices", {"buffer": TWO_DEVICE_BUFFER}),
    ("RequestQueuePair", "named devices", PAIR),
    ("RequestQueuePair", "the manager's choice",
     {"other": ALPHA, "self_device": "", "other_device": ""}),
    ("RequestQueuePair", "a passive peer",
     {"other": PASSIVE, "self_device": "soft0", "other_device": "soft0"}),
    ("Connect", "soft endpoint", PAIR | {"endpoint": SOFT_QP}),
    ("Connect", "verbs endpoint", PAIR | {"endpoint": VERBS_QP}),
    ("InitializeQP", "plain", PAIR),
    ("ConnectionInfo", "plain", PAIR),
    ("ReleaseQueuePair", "plain", PAIR | {"qp": DESCRIPTOR}),
    ("ReleaseQueuePair", "known life", PAIR | {"qp": KNOWN_DESCRIPTOR}),
    ("GetQpState", "plain", PAIR),
    ("ListDevices", "plain", {}),
    ("ListBuffers", "plain", {}),
    ("LookupBuffer", "plain", {"name": "weights"}),
    ("LookupBuffer", "not ASCII", {"name": "poids-é-重み"}),
    ("Transfer", "put", {"op": "put", "local": {"buffer": "weights", "offset": 0},
                         "remote": BUFFER, "offset": 0, "length": 2**32, "timeout_ms": 30000}),
    ("Transfer", "get", {"op": "get", "local": {"buffer": "scratch", "offset": 4096},
                         "remote": TWO_DEVICE_BUFFER, "offset": 65536, "length": 0,
                         "timeout_ms": 1}),
    ("Atomic", "fetch_add", {"op": "fetch_add", "remote": BUFFER, "offset": 8, "add": 2**64 - 1,
                             "timeout_ms": 1000}),
    ("Atomic", "compare_swap", {"op": "compare_swap", "remote": TWO_DEVICE_BUFFER, "offset": 0,
                                "compare": 0, "swap": 2**63, "timeout_ms": 2**32 - 1}),
    ("GetStats", "plain", {}),
    ("ConnectPeer", "soft", ENDS | {"transport": "soft", "attempt": ATTEMPT, "endpoint": SOFT_QP}),
    ("ConnectPeer", "verbs", ENDS | {"transport": "verbs", "attempt": 1, "endpoint": VERBS_QP}),
    ("PeerReady", "plain", ENDS | {"attempt": ATTEMPT}),
    ("AbandonPeer", "plain", ENDS | {"attempt": ATTEMPT}),
    ("ClosePeer", "plain", PAIR),
]

DEVICES = [
    {"name": "soft0", "transport": "soft", "port": 1, "usable": True, "reason": "",
     "attributes": {"data_address": "127.0.0.1:41237"}},
    {"name": "mlx5_0", "transport": "verbs", "port": 1, "usable": False,
     "reason": "its port is DOWN", "attributes": {}},
]
STATS = {
    "self": ALPHA, "incarnation": INCARNATION, "version": "0.1.0", "uptime_seconds": 2.0,
    "buffers": 3,
    "queue_pairs": [{"queue_pair": KNOWN_DESCRIPTOR, "path": "tcp", "phase": "ready",
                     "operations": 12, "bytes": 2**40}],
    "counters": {"mailbox.malformed_frames": 0, "mailbox.requests": 70000},
}
NIL_REPLIES = ["ReleaseBuffer", "Connect", "ReleaseQueuePair", "PeerReady", "AbandonPeer",
               "ClosePeer"]

REPLIES = [
    ("RequestBuffer", "soft", BUFFER),
    ("RequestBuffer", "two devices", TWO_DEVICE_BUFFER),
    ("RequestQueuePair", "life not known", DESCRIPTOR),
    ("RequestQueuePair", "life known", KNOWN_DESCRIPTOR),
    ("InitializeQP", "true", True),
    ("ConnectionInfo", "soft", SOFT_QP),
    ("ConnectionInfo", "verbs", VERBS_QP),
    ("GetQpState", "RTS", 3),
    ("ListDevices", "one usable of two", DEVICES),
    ("ListDevices", "none", []),
    ("ListBuffers", "one", [{"name": "weights", "buffer": BUFFER}]),
    ("LookupBuffer", "soft", BUFFER),
    ("Transfer", "done", {"bytes": 2**32, "seconds": 0.25, "transport": "soft", "path": "tcp"}),
    ("Atomic", "done", {"value": 2**64 - 1, "transport": "soft", "path": "tcp"}),
    ("GetStats", "one queue pair", STATS),
    ("ConnectPeer", "soft", {"endpoint": SOFT_QP, "state": 3, "incarnation": OTHER_INCARNATION}),
] + [(name, "done", None) for name in NIL_REPLIES]

ERRORS = [
    ("without details", {"code": "NotFound", "message": "there is no buffer 9 here",
                         "details": {}}),
    ("with details", {"code": "UnknownDevice", "message": "there is no device 'mlx5_9'",
                      "details": {"device": "mlx5_9", "known": "soft0"}}),
]

TO = {"id": "beta"}
FROM = {"id": "alpha", "at": "tcp://127.0.0.1:7001"}
HEADERS = [
    ("a request", {"version": 1, "kind": "request", "id": 1, "to": TO, "from": FROM}),
    ("a request with every field",
     {"version": 1, "kind": "request", "id": 2**64 - 1,
      "to": TO | {"incarnation": OTHER_INCARNATION}, "from": FROM | {"incarnation": INCARNATION},
      "timeout_ms": 2**32 - 1}),
    ("a request from a passive actor",
     {"version": 1, "kind": "request", "id": 300, "to": TO, "from": PASSIVE, "timeout_ms": 5000}),
    ("a reply", {"version": 1, "kind": "reply", "id": 1, "to": {"id": "alpha"},
                 "from": BETA | {"incarnation": OTHER_INCARNATION}}),
    ("a cast", {"version": 1, "kind": "cast", "id": 0, "to": TO, "from": FROM}),
    ("the longest identity",
     {"version": 1, "kind": "cast", "id": 0, "to": TO, "from": {"id": "x" * 200, "at": ""}}),
]


def without(fields, *names):
    return {key: value for key, value in fields.items() if key not in names}



# (kind, name, bytes, what they mean): not as this program writes them, and accepted all the same.
ACCEPTED = [
    ("message", "an unknown field, such as a reply port",
     msgpack.packb({"RequestBuffer": {"addr": 1, "size": 2, "reply": {"port": [1, 2]}}}),
     {"RequestBuffer": {"addr": 1, "size": 2}}),
    ("message", "fields in another order", msgpack.packb({"RequestBuffer": {"size": 2, "addr": 1}}),
     {"RequestBuffer": {"addr": 1, "size": 2}}),
    ("message", "nil for a message without fields", msgpack.packb({"ListDevices": None}),
     {"ListDevices": {}}),
    ("message", "integers and lengths wider than needed",
     bytes.fromhex("df00000001" "d90d") + b"RequestBuffer" + bytes.fromhex("de0002" "da0004") +
     b"addr" + bytes.fromhex("cf0000000000000001" "db00000004") + b"size" +
     bytes.fromhex("ce00000002"),
     {"RequestBuffer": {"addr": 1, "size": 2}}),
    ("message", "a positive number written as a signed one",
     bytes.fromhex("81ad") + b"RequestBuffer" + bytes.fromhex("82a4") + b"addr" +
     bytes.fromhex("d17fff" "a4") + b"size" + bytes.fromhex("d30000000000000002"),
     {"RequestBuffer": {"addr": 0x7FFF, "size": 2}}),
    ("message", "nil for absent optional fields",
     msgpack.packb({"Connect": PAIR | {"endpoint": {
         "qp_num": 17, "lid": 0, "gid": None, "psn": 9, "mtu": None, "max_rd_atomic": None,
         "soft": None}}}),
     {"Connect": PAIR | {"endpoint": {"qp_num": 17, "lid": 0, "psn": 9}}}),
    ("message", "absent fields with a default",
     msgpack.packb({"ReleaseBuffer": {"buffer": without(BUFFER, "transport", "alternates") |
                                      {"owner": {"id": "alpha"}}}}),
     {"ReleaseBuffer": {"buffer": BUFFER | {"owner": {"id": "alpha", "at": ""}}}}),
    ("message", "a transfer without offsets",
     msgpack.packb({"Transfer": {"op": "get", "local": {"buffer": "b"}, "remote": BUFFER,
                                 "length": 1, "timeout_ms": 1}}),
     {"Transfer": {"op": "get", "local": {"buffer": "b", "offset": 0}, "remote": BUFFER,
                   "offset": 0, "length": 1, "timeout_ms": 1}}),
    ("message", "an atomic without an offset, and nil for what its op does not take",
     msgpack.packb({"Atomic": {"op": "fetch_add", "remote": BUFFER, "add": 1, "compare": None,
                               "swap": None, "timeout_ms": 1}}),
     {"Atomic": {"op": "fetch_add", "remote": BUFFER, "offset": 0, "add": 1, "timeout_ms": 1}}),
    ("header", "an unknown field",
     msgpack.packb({"version": 1, "kind": "cast", "id": 7, "to": TO, "from": FROM,
                    "trace": "4bf9"}),
     {"version": 1, "kind": "cast", "id": 7, "to": TO, "from": FROM}),
    ("header", "no address and a nil time-out",
     msgpack.packb({"version": 1, "kind": "request", "id": 7, "to": TO, "from": {"id": "alpha"},
                    "timeout_ms": None}),
     {"version": 1, "kind": "request", "id": 7, "to": TO, "from": {"id": "alpha", "at": ""}}),
    ("reply", "an error without details",
     msgpack.packb({"Err": {"code": "Busy", "message": "too much in flight"}}),
     {"Err": {"code": "Busy", "message": "too much in flight", "details": {}}}),
    ("reply", "an error whose code is not known yet",
     msgpack.packb({"Err": {"code": "TooEarly", "message": "m", "details": {}}}),
     {"Err": {"code": "Internal", "message": "m", "details": {"code": "TooEarly"}}}),
]

GOOD_HEADER = HEADERS[0][1]
NUMBER = {"addr": 1, "size": 2}


def header(**changes):
    return msgpack.packb(GOOD_HEADER | changes)


def request_buffer(**changes):
    return msgpack.packb({"RequestBuffer": NUMBER | changes})


def connect(**changes):
    return msgpack.packb({"Connect": PAIR | {"endpoint": SOFT_QP | changes}})


# (kind, name, bytes, error code)
REFUSED = [
    ("header", "empty", b"", "Malformed"),
    ("header", "no map", msgpack.packb([1, "request", 1]), "Malformed"),
    ("header", "version 2", header(version=2), "UnsupportedVersion"),
    ("header", "version 2 of another shape", msgpack.packb({"version": 2, "id": 9}),
     "UnsupportedVersion"),
    ("header", "version 0", header(version=0), "UnsupportedVersion"),
    ("header", "a version beyond 32 bits", header(version=2**40), "UnsupportedVersion"),
    ("header", "a version that is a string", header(version="1"), "Malformed"),
    ("header", "no version", msgpack.packb(without(GOOD_HEADER, "version")), "Malformed"),
    ("header", "an unknown kind", header(kind="query"), "Malformed"),
    ("header", "a kind that is a number", header(kind=1), "Malformed"),
    ("header", "a negative id", header(id=-1), "Malformed"),
    ("header", "a float id", header(id=1.5), "Malformed"),
    ("header", "no id", msgpack.packb(without(GOOD_HEADER, "id")), "Malformed"),
    ("header", "no sender", msgpack.packb(without(GOOD_HEADER, "from")), "Malformed"),
    ("header", "an empty identity", header(**{"from": {"id": "", "at": ""}}), "Malformed"),
    ("header", "an identity of 201 characters", header(**{"from": {"id": "x" * 201}}),
     "Malformed"),
    ("header", "an identity with a zero byte", header(**{"from": {"id": "\0x"}}), "Malformed"),
    ("header", "an incarnation of 15 bytes", header(to=TO | {"incarnation": b"x" * 15}),
     "Malformed"),
    ("header", "an incarnation that is a string", header(to=TO | {"incarnation": "x" * 16}),
     "Malformed"),
    ("header", "a time-out beyond 32 bits", header(timeout_ms=2**32), "Malformed"),
    ("header", "a byte behind it", header() + b"\0", "Malformed"),
    ("header", "a key twice", b"\x82\xa2id\x01\xa2id\x02", "Malformed"),
    ("message", "empty", b"", "Malformed"),
    ("message", "nil", msgpack.packb(None), "Malformed"),
    ("message", "a bare name", msgpack.packb("ListDevices"), "Malformed"),
    ("message", "no entry", msgpack.packb({}), "Malformed"),
    ("message", "two entries", msgpack.packb({"ListDevices": {}, "ListBuffers": {}}), "Malformed"),
    ("message", "an unknown name", msgpack.packb({"DropTables": {}}), "UnknownMessage"),
    ("message", "a name in another case", msgpack.packb({"listdevices": {}}), "UnknownMessage"),
    ("message", "a missing field", msgpack.packb({"RequestBuffer": {"addr": 1}}), "Malformed"),
    ("message", "fields as an array", msgpack.packb({"RequestBuffer": [1, 2]}), "Malformed"),
    ("message", "nil for a message with fields", msgpack.packb({"RequestBuffer": None}),
     "Malformed"),
    ("message", "nil for a required field", request_buffer(addr=None), "Malformed"),
    ("message", "a string for a number", request_buffer(addr="1"), "Malformed"),
    ("message", "a negative number", request_buffer(size=-1), "Malformed"),
    ("message", "a negative number for an optional one",
     msgpack.packb({"Atomic": {"op": "fetch_add", "remote": BUFFER, "add": -1, "timeout_ms": 1}}),
     "Malformed"),
    ("message", "a float for an integer", request_buffer(size=2.0), "Malformed"),
    ("message", "a number beyond 16 bits", connect(lid=65536), "Malformed"),
    ("message", "a number beyond 32 bits", connect(qp_num=2**32), "Malformed"),
    ("message", "a GID of 17 bytes", connect(gid=b"x" * 17), "Malformed"),
    ("message", "a GID as text", connect(gid="0" * 32), "Malformed"),
    ("message", "binary for a string", msgpack.packb({"LookupBuffer": {"name": b"weights"}}),
     "Malformed"),
    ("message", "a map for a list",
     msgpack.packb({"ReleaseBuffer": {"buffer": BUFFER | {"alternates": {}}}}), "Malformed"),
    ("message", "a field twice",
     b"\x81\xadRequestBuffer\x83\xa4addr\x01\xa4size\x02\xa4addr\x03", "Malformed"),
    ("message", "a number for a key", msgpack.packb({1: {}}), "Malformed"),
    ("message", "an ext value", msgpack.packb({"ListDevices": {"x": msgpack.ExtType(5, b"x")}}),
     "Malformed"),
    ("message", "the byte that MessagePack never uses", b"\xc1", "Malformed"),
    ("message", "a truncated string", b"\x81\xadRequest", "Malformed"),
    ("message", "an array of 2^32-1", bytes.fromhex("ddffffffff"), "Malformed"),
    ("message", "a map of 2^32-1", bytes.fromhex("dfffffffff"), "Malformed"),
    ("message", "a string of 2^32-1", bytes.fromhex("dbffffffff"), "Malformed"),
    ("message", "binary of 2^32-1", bytes.fromhex("c6ffffffff"), "Malformed"),
    ("message", "an ext of 2^32-1", bytes.fromhex("c9ffffffff05"), "Malformed"),
    ("message", "a field's list of 2^32-1",
     b"\x81\xabListDevices\x81\xa1x" + bytes.fromhex("ddffffffff"), "Malformed"),
    ("message", "65537 declared values", bytes.fromhex("dd00010001"), "Malformed"),
    ("message", "a thousand arrays in each other", b"\x91" * 1000 + b"\xc0", "Malformed"),
    ("message", "seventeen maps in each other",
     b"\x81\xabListDevices" + b"\x81\xa1x" * 16 + b"\xc0", "Malformed"),
    ("message", "a second message behind it", msgpack.packb({"ListDevices": {}}) * 2, "Malformed"),
    ("reply", "empty", b"", "Malformed"),
    ("reply", "nil", msgpack.packb(None), "Malformed"),
    ("reply", "neither Ok nor Err", msgpack.packb({"Fine": 1}), "Malformed"),
    ("reply", "Ok and Err", msgpack.packb({"Ok": 1, "Err": {"code": "Busy", "message": ""}}),
     "Malformed"),
    ("reply", "an error without a code", msgpack.packb({"Err": {"message": "m"}}), "Malformed"),
    ("reply", "an error that is a string", msgpack.packb({"Err": "m"}), "Malformed"),
    ("reply", "details that are no strings",
     msgpack.packb({"Err": {"code": "Busy", "message": "", "details": {"n": 1}}}), "Malformed"),
]


def as_json(value):
    """Binary as lower-case hex, the rest as it is."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict):
        return {key: as_json(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [as_json(element) for element in value]
    return value


def vector(kind, name, value, **more):
    return {"kind": kind, "name": name, **more, "hex": msgpack.packb(value).hex(),
            "json": as_json(value)}


def document():
    vectors = [vector("header", name, value) for name, value in HEADERS]
    vectors += [vector("message", f"{name}, {what}", {name: fields})
                for name, what, fields in MESSAGES]
    vectors += [vector("reply", f"{name}, {what}", {"Ok": value}, to=name)
                for name, what, value in REPLIES]
    vectors += [vector("reply", f"an error {what}", {"Err": error}) for what, error in ERRORS]
    accepted = [{"kind": kind, "name": name, "hex": raw.hex(), "json": as_json(meaning),
                 "canonical": msgpack.packb(meaning).hex()}
                for kind, name, raw, meaning in ACCEPTED]
    refused = [{"kind": kind, "name": name, "hex": raw.hex(), "error": error}
               for kind, name, raw, error in REFUSED]
    return {"version": 1, "vectors": vectors, "accepted": accepted, "refused": refused}


def text():
    return json.dumps(document(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    VECTORS.parent.mkdir(exist_ok=True)
    VECTORS.write_text(text(), encoding="utf-8")
    print(f"wrote {VECTORS}")
