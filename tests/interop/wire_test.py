"""A program in another language drives real workers: every reply, every refusal, a Transfer, an Atomic.

Usage: wire_test.py PATH_OF_DANAUS [unittest's arguments]
"""

import os
import struct
import tempfile
import unittest

import msgpack

import wire
from wire import ManagerError, Peer, Worker, ZmtpConnection

DANAUS = None
MIB = 1 << 20


class WireTest(unittest.TestCase):
    """Two workers and someone who asks them."""

    workers = {"left": [], "right": []}

    def setUp(self):
        self.peer = Peer()
        self.addCleanup(self.peer.close)
        for name, arguments in self.workers.items():
            worker = Worker(DANAUS, name, *arguments)
            self.addCleanup(worker.kill)
            setattr(self, name, worker)

    def assert_refused(self, code, call, *arguments, **fields):
        with self.assertRaises(ManagerError) as caught:
            call(*arguments, **fields)
        self.assertEqual(caught.exception.code, code, caught.exception.message)
        self.assertTrue(caught.exception.message)
        return caught.exception

    def stats(self, worker):
        return self.peer.ask(worker.ref, "GetStats")

    def counters(self, worker):
        return self.stats(worker)["counters"]


class Replies(WireTest):
    def test_a_reply_names_its_request_its_sender_and_the_life_of_it(self):
        head = self.peer.header("request", self.left.ref, timeout_ms=5000)
        reply_head, reply = self.peer.exchange(self.left.ref, head, {"ListDevices": {}})
        self.assertEqual(reply_head["version"], 1)
        self.assertEqual(reply_head["kind"], "reply")
        self.assertEqual(reply_head["id"], head["id"])
        self.assertEqual(reply_head["to"]["id"], self.peer.identity)
        self.assertEqual(reply_head["from"]["id"], "left")
        self.assertEqual(reply_head["from"]["at"], self.left.ref["at"])
        incarnation = reply_head["from"]["incarnation"]
        self.assertIsInstance(incarnation, bytes)
        self.assertEqual(len(incarnation), 16)
        self.assertEqual(list(reply), ["Ok"])

        # What is for that life is served; what is for an earlier one is not.
        head = self.peer.header("request", self.left.ref)
        head["to"]["incarnation"] = incarnation
        self.assertIn("Ok", self.peer.exchange(self.left.ref, head, {"ListDevices": {}})[1])
        head = self.peer.header("request", self.left.ref)
        head["to"]["incarnation"] = bytes(16)
        _, reply = self.peer.exchange(self.left.ref, head, {"ListDevices": {}})
        self.assertEqual(reply["Err"]["code"], "StalePeer")

    def test_list_devices_shows_the_software_device(self):
        devices = self.peer.ask(self.left.ref, "ListDevices")
        soft = [device for device in devices if device["name"] == "soft0"]
        self.assertEqual(len(soft), 1)
        self.assertEqual(soft[0]["transport"], "soft")
        self.assertIs(soft[0]["usable"], True)

    def test_unknown_fields_are_ignored(self):
        head = self.peer.header("request", self.left.ref, trace={"span": [1, 2, 3]})
        _, reply = self.peer.exchange(self.left.ref, head, {"ListDevices": {"reply": None}})
        self.assertIn("Ok", reply)

    def test_requests_may_be_sent_before_earlier_replies_are_read(self):
        heads = [self.peer.header("request", self.left.ref) for _ in range(100)]
        for head in heads:
            self.peer.send(self.left.ref, [msgpack.packb(head), msgpack.packb({"GetStats": {}})])
        replied = {self.peer.receive(self.left.ref)[0]["id"] for _ in heads}
        self.assertEqual(replied, {head["id"] for head in heads})

    def test_a_cast_is_not_answered(self):
        before = self.counters(self.left)
        self.peer.cast(self.left.ref, "ReleaseBuffer", buffer=no_such_buffer(self.left))
        # The next thing that comes is the reply to the next request.
        self.assertTrue(self.peer.ask(self.left.ref, "ListDevices"))
        after = self.counters(self.left)
        self.assertEqual(after["mailbox.casts_received"], before["mailbox.casts_received"] + 1)

    def test_two_clients_are_answered_on_their_own_connections(self):
        other = Peer("interop")  # the same name on purpose
        self.addCleanup(other.close)
        for _ in range(10):
            self.assertTrue(self.peer.ask(self.left.ref, "ListDevices"))
            self.assertTrue(other.ask(self.left.ref, "ListDevices"))


def no_such_buffer(worker):
    return {"owner": worker.ref, "mr_id": 1 << 40, "addr": 4096, "size": 16, "rkey": 1, "lkey": 1,
            "device_name": "soft0", "incarnation": bytes(16)}


def pair_with(worker):
    return {"other": worker.ref, "self_device": "soft0", "other_device": "soft0"}


class Buffers(WireTest):
    workers = {"left": ["--buffer", "data=1MiB"]}

    def test_a_buffer_is_looked_up_listed_registered_and_released(self):
        found = self.peer.ask(self.left.ref, "LookupBuffer", name="data")
        self.assertEqual(found["owner"], self.left.ref)
        self.assertEqual(found["size"], MIB)
        self.assertEqual(len(found["incarnation"]), 16)
        listed = self.peer.ask(self.left.ref, "ListBuffers")
        self.assertEqual(listed, [{"name": "data", "buffer": found}])

        part = self.peer.ask(self.left.ref, "RequestBuffer", addr=found["addr"] + 64, size=128)
        self.assertEqual((part["addr"], part["size"]), (found["addr"] + 64, 128))
        self.assertNotEqual(part["rkey"], found["rkey"])
        self.assertIsNone(self.peer.ask(self.left.ref, "ReleaseBuffer", buffer=part))
        self.assert_refused("NotFound", self.peer.ask, self.left.ref, "ReleaseBuffer", buffer=part)
        self.assert_refused("PermissionDenied", self.peer.ask, self.left.ref, "ReleaseBuffer",
                            buffer=found)
        self.assert_refused("NotFound", self.peer.ask, self.left.ref, "LookupBuffer", name="none")

    def test_what_cannot_be_registered_is_refused(self):
        found = self.peer.ask(self.left.ref, "LookupBuffer", name="data")
        for addr, size, code in [(found["addr"], 0, "InvalidArgument"),
                                 ((1 << 64) - 1, 16, "InvalidArgument"),
                                 (found["addr"], MIB + 1, "PermissionDenied")]:
            self.assert_refused(code, self.peer.ask, self.left.ref, "RequestBuffer", addr=addr,
                                size=size)


class Transfers(WireTest):
    workers = {"left": ["--buffer", "data=3MiB"], "right": ["--buffer", "data=3MiB"]}

    def test_a_process_of_any_language_moves_bytes_between_two_workers(self):
        size = 3 * MIB
        sent = os.urandom(size)
        with tempfile.TemporaryDirectory() as directory:
            source = os.path.join(directory, "source")
            result = os.path.join(directory, "result")
            with open(source, "wb") as file:
                file.write(sent)
            self.left.run("put", source, f"{self.left.reference}/data")

            # Left puts its second half at the start of right's buffer; right gets the first half
            # behind it.
            to = self.peer.ask(self.right.ref, "LookupBuffer", name="data")
            done = self.peer.ask(self.left.ref, "Transfer", op="put",
                                 local={"buffer": "data", "offset": size // 2}, remote=to, offset=0,
                                 length=size // 2, timeout_ms=10_000)
            self.assertEqual(done["bytes"], size // 2)
            self.assertEqual(done["transport"], "soft")
            self.assertIsInstance(done["seconds"], float)
            self.assertTrue(done["path"])
            origin = self.peer.ask(self.left.ref, "LookupBuffer", name="data")
            self.peer.ask(self.right.ref, "Transfer", op="get",
                          local={"buffer": "data", "offset": size // 2}, remote=origin, offset=0,
                          length=size // 2, timeout_ms=10_000)

            self.right.run("get", f"{self.right.reference}/data", result)
            with open(result, "rb") as file:
                self.assertTrue(file.read() == sent[size // 2:] + sent[:size // 2])

    def test_a_wrong_transfer_is_refused(self):
        to = self.peer.ask(self.right.ref, "LookupBuffer", name="data")
        fields = {"op": "put", "local": {"buffer": "data", "offset": 0}, "remote": to, "offset": 0,
                  "length": 16, "timeout_ms": 10_000}
        for wrong, code in [({"op": "swap"}, "InvalidArgument"),
                            ({"local": {"buffer": "none", "offset": 0}}, "NotFound"),
                            ({"remote": {**to, "rkey": to["rkey"] ^ 1, "alternates": []}},
                             "RemoteAccessError"),
                            ({"remote": {**to, "incarnation": bytes(16)}}, "StalePeer")]:
            with self.subTest(wrong=list(wrong), code=code):
                self.assert_refused(code, self.peer.ask, self.left.ref, "Transfer",
                                    **{**fields, **wrong})
        self.assertEqual(self.peer.ask(self.left.ref, "Transfer", **fields)["bytes"], 16)


class Atomics(WireTest):
    workers = {"left": [], "right": ["--buffer", "counters=16"]}

    def test_a_process_of_any_language_adds_and_swaps(self):
        counters = self.peer.ask(self.right.ref, "LookupBuffer", name="counters")

        def ask(op, **operands):
            reply = self.peer.ask(self.left.ref, "Atomic", op=op, remote=counters, offset=8,
                                  timeout_ms=10_000, **operands)
            self.assertEqual(reply["transport"], "soft")
            self.assertTrue(reply["path"])
            return reply["value"]

        self.assertEqual(ask("fetch_add", add=5), 0)
        self.assertEqual(ask("fetch_add", add=2**64 - 1), 5)
        self.assertEqual(ask("compare_swap", compare=5, swap=2**64 - 1), 4)
        self.assertEqual(ask("compare_swap", compare=4, swap=2**64 - 1), 4)
        self.assertEqual(ask("fetch_add", add=1), 2**64 - 1)
        self.assertEqual(ask("fetch_add", add=0), 0)
        self.assertEqual(self.counters(self.right)["soft.atomics"], 6)
        self.assertEqual(self.counters(self.left)["manager.atomics"], 6)

    def test_a_wrong_atomic_is_refused(self):
        counters = self.peer.ask(self.right.ref, "LookupBuffer", name="counters")
        fields = {"op": "fetch_add", "remote": counters, "offset": 0, "add": 1,
                  "timeout_ms": 10_000}
        for wrong, code in [({"op": "fetch_sub"}, "InvalidArgument"),
                            ({"op": "compare_swap"}, "InvalidArgument"),
                            ({"add": None}, "InvalidArgument"),
                            ({"swap": 1}, "InvalidArgument"),
                            ({"offset": 4}, "InvalidArgument"),
                            ({"offset": 9}, "OutOfRange"),
                            ({"offset": 2**64 - 8}, "OutOfRange"),
                            ({"add": "1"}, "Malformed"),
                            ({"remote": {**counters, "rkey": counters["rkey"] ^ 1}},
                             "RemoteAccessError"),
                            ({"remote": {**counters, "size": 1 << 40}, "offset": 4096},
                             "RemoteAccessError"),
                            ({"remote": {**counters, "incarnation": bytes(16)}}, "StalePeer")]:
            with self.subTest(wrong=list(wrong), code=code):
                self.assert_refused(code, self.peer.ask, self.left.ref, "Atomic",
                                    **{**fields, **wrong})
        self.assertEqual(self.peer.ask(self.left.ref, "Atomic", **fields)["value"], 0)


class QueuePairs(WireTest):
    def test_the_stepwise_handshake_leads_to_ready_to_send(self):
        left, right = self.left, self.right
        for worker, other in [(left, right), (right, left)]:
            self.assertIs(self.peer.ask(worker.ref, "InitializeQP", **pair_with(other)), True)
        left_info = self.peer.ask(left.ref, "ConnectionInfo", **pair_with(right))
        right_info = self.peer.ask(right.ref, "ConnectionInfo", **pair_with(left))
        self.assertEqual(len(left_info["soft"]["token"]), 16)
        # The seed sends Connect without waiting for a reply, and asks for the state as a barrier.
        self.peer.cast(left.ref, "Connect", endpoint=right_info, **pair_with(right))
        self.peer.cast(right.ref, "Connect", endpoint=left_info, **pair_with(left))
        self.assertEqual(self.peer.ask(left.ref, "GetQpState", **pair_with(right)), 3)
        self.assertEqual(self.peer.ask(right.ref, "GetQpState", **pair_with(left)), 3)

    def test_a_queue_pair_is_requested_described_released_and_closed(self):
        pair = self.peer.ask(self.left.ref, "RequestQueuePair", other=self.right.ref,
                             self_device="", other_device="")
        self.assertEqual(pair["state"], 3)
        self.assertEqual((pair["self_device"], pair["other_device"]), ("soft0", "soft0"))
        self.assertEqual(pair["other"], self.right.ref)
        again = self.peer.ask(self.left.ref, "RequestQueuePair", **pair_with(self.right))
        self.assertEqual(again["qp_num"], pair["qp_num"])
        self.assertIsNone(self.peer.ask(self.left.ref, "ReleaseQueuePair", qp=pair,
                                        **pair_with(self.right)))
        self.assertIsNone(self.peer.ask(self.left.ref, "ClosePeer", **pair_with(self.right)))
        for worker in (self.left, self.right):
            self.assertTrue(wire.eventually(lambda w=worker: not self.stats(w)["queue_pairs"]))

    def test_a_peer_that_cannot_be_reached_is_said_so(self):
        nobody = {"id": "nobody", "at": "tcp://127.0.0.1:1"}
        self.assert_refused("Unreachable", self.peer.ask, self.left.ref, "RequestQueuePair",
                            other=nobody, self_device="", other_device="")
        unknown = {"other": self.right.ref, "self_device": "mlx5_0", "other_device": ""}
        error = self.assert_refused("UnknownDevice", self.peer.ask, self.left.ref,
                                    "RequestQueuePair", **unknown)
        self.assertIn("soft0", error.message)


class Refusals(WireTest):
    """What is wrong in form: refused where there is someone to tell, counted, survived."""

    workers = {"left": []}

    def setUp(self):
        super().setUp()
        self.ref = self.left.ref
        self.assertTrue(self.peer.ask(self.ref, "ListDevices"))
        self.resident = self.left.resident_bytes()
        self.before = self.counters(self.left)

    def tearDown(self):
        # Whatever came: the worker answers, on the same connection and on a new one, and held no
        # more memory than the largest part that it takes.
        self.assertTrue(self.peer.ask(self.ref, "ListDevices"))
        newcomer = Peer("newcomer")
        self.addCleanup(newcomer.close)
        self.assertTrue(newcomer.ask(self.ref, "ListDevices"))
        self.assertLess(self.left.resident_bytes(), self.resident + 64 * MIB)

    def refused_in_all(self):
        """Everything that was counted as refused since the start of the test."""
        now = self.counters(self.left)
        names = ("malformed_frames", "unsupported_versions", "unknown_messages",
                 "wrong_addressees", "unexpected_replies")
        return sum(now[f"mailbox.{name}"] - self.before[f"mailbox.{name}"] for name in names)

    def request(self, **changes):
        return {**self.peer.header("request", self.ref), **changes}

    def reply_code(self, head, content):
        """The code of the `Err` with which a request is answered."""
        _, reply = self.peer.exchange(self.ref, head, content)
        self.assertEqual(list(reply), ["Err"])
        self.assertTrue(reply["Err"]["message"])
        return reply["Err"]["code"]

    def test_frames_of_any_number(self):
        good = msgpack.packb(self.request())
        self.peer.send(self.ref, [b""])
        self.peer.send(self.ref, [b"", b""])
        self.peer.send(self.ref, [good])
        self.peer.send(self.ref, [good, b""])
        self.peer.send(self.ref, [good] * 3)
        self.peer.send(self.ref, [b"x"] * 1000)
        self.peer.send(self.ref, [b""] * 1000)
        self.assertTrue(wire.eventually(lambda: self.refused_in_all() == 7), self.refused_in_all())

    def test_an_unknown_version_kind_or_variant(self):
        ping = {"ListDevices": {}}
        self.assertEqual(self.reply_code(self.request(version=2), ping), "UnsupportedVersion")
        self.assertEqual(self.reply_code(self.request(version=0), ping), "UnsupportedVersion")
        self.assertEqual(self.reply_code(self.request(kind="question"), ping), "Malformed")
        _, reply = self.peer.exchange(self.ref, self.request(), {"MakeCoffee": {}})
        self.assertEqual(reply["Err"]["code"], "UnknownMessage")
        self.assertIn("RequestQueuePair", reply["Err"]["message"])
        self.assertEqual(self.refused_in_all(), 4)

    def test_bodies_that_are_no_message(self):
        for content in (None, 1, "ListDevices", [], {}, {"ListDevices": {}, "GetStats": {}},
                        {"ListDevices": 5}, {"LookupBuffer": {}}, {"LookupBuffer": {"name": 5}},
                        {"LookupBuffer": {"name": "x" * 2_000}},
                        {"RequestBuffer": {"addr": -1, "size": 1}},
                        {"RequestBuffer": {"addr": 1.5, "size": 1}},
                        {"RequestBuffer": {"addr": "0", "size": 1}}, {1: {}}, {None: {}},
                        {"Connect": pair_with(self.left)}):
            with self.subTest(content=str(content)[:60]):
                self.assertIn(self.reply_code(self.request(), content),
                              ("Malformed", "UnknownMessage", "NotFound"))

    def test_headers_that_are_none(self):
        ping = msgpack.packb({"ListDevices": {}})
        heads = [None, [], "request", 7, {}, {"id": "seven"}, {"version": 1, "kind": "request"}]
        for head in heads:
            self.peer.send(self.ref, [msgpack.packb(head), ping])
        self.assertTrue(wire.eventually(lambda: self.refused_in_all() == len(heads)),
                        self.refused_in_all())

    def test_fields_of_the_header_of_a_wrong_type_are_named(self):
        for changes, name in [({"to": "left"}, "to"), ({"from": {"at": ""}}, "from"),
                              ({"timeout_ms": -5}, "timeout_ms"),
                              ({"timeout_ms": 1 << 40}, "timeout_ms"),
                              ({"to": {"id": "left", "incarnation": b"short"}}, "incarnation")]:
            with self.subTest(changes=changes):
                _, reply = self.peer.exchange(self.ref, self.request(**changes),
                                              {"ListDevices": {}})
                self.assertEqual(reply["Err"]["code"], "Malformed")
                self.assertIn(name, reply["Err"]["message"])

    def test_a_message_for_somebody_else(self):
        self.assertEqual(self.reply_code(self.request(to={"id": "right"}), {"ListDevices": {}}),
                         "WrongAddressee")

    def test_replies_to_no_request_are_dropped(self):
        self.peer.send(self.ref, [msgpack.packb(self.request(kind="reply")),
                                  msgpack.packb({"Ok": None})])
        self.assertTrue(wire.eventually(lambda: self.refused_in_all() == 1))

    def test_senders_without_a_proper_identity(self):
        for identity in ("", "x" * 201, "x" * 255, "a b", "a/b", "a@b", "\0", "é"):
            with self.subTest(identity=identity[:10]):
                head = self.request(**{"from": {"id": identity, "at": ""}})
                self.assertEqual(self.reply_code(head, {"ListDevices": {}}), "Malformed")

    def test_lengths_of_four_gigabytes_that_are_not_there(self):
        huge = struct.pack(">I", 0xFFFFFFFF)
        name = b"\x81\xabListDevices"
        claims = [b"\xdb" + huge, b"\xc6" + huge, b"\xdd" + huge, b"\xdf" + huge, b"\xc9" + huge]
        head = msgpack.packb(self.request())
        for claim in claims:
            for parts in ([claim, msgpack.packb({"ListDevices": {}})],
                          [b"\x81\xa2id" + claim, msgpack.packb({"ListDevices": {}})],
                          [head, claim], [head, name + claim],
                          [head, b"\x81\xacLookupBuffer\x81\xa4name" + claim]):
                self.peer.send(self.ref, parts)
        self.assertTrue(wire.eventually(lambda: self.refused_in_all() == 5 * len(claims)),
                        self.refused_in_all())

    def test_nesting_a_thousand_deep(self):
        head = msgpack.packb(self.request())
        arrays = b"\x91" * 1000 + b"\xc0"
        maps = b"\x81\xa1x" * 1000 + b"\xc0"
        for nested in (arrays, maps):
            self.peer.send(self.ref, [nested, msgpack.packb({"ListDevices": {}})])
            self.peer.send(self.ref, [head, nested])
            self.peer.send(self.ref, [head, b"\x81\xabListDevices\x81\xa5extra" + nested])
        self.assertTrue(wire.eventually(lambda: self.refused_in_all() == 6), self.refused_in_all())

    def test_many_values_in_few_bytes(self):
        content = b"\x81\xabListDevices\x81\xa5extra\xdd" + struct.pack(">I", 900_000)
        self.peer.send(self.ref, [msgpack.packb(self.request()), content + b"\xc0" * 900_000])
        self.assertTrue(wire.eventually(lambda: self.refused_in_all() == 1))

    def test_garbage(self):
        for size in (1, 7, 100, 4096):
            for _ in range(25):
                self.peer.send(self.ref, [os.urandom(size), os.urandom(size)])
        self.assertTrue(wire.eventually(lambda: self.refused_in_all() >= 100),
                        self.refused_in_all())

    def test_bytes_behind_the_message(self):
        self.peer.send(self.ref, [msgpack.packb(self.request()),
                                  msgpack.packb({"ListDevices": {}}) + b"\xc0"])
        self.assertTrue(wire.eventually(lambda: self.refused_in_all() == 1))


class Connections(WireTest):
    """What is wrong below the messages."""

    workers = {"left": []}

    def tearDown(self):
        self.assertTrue(self.peer.ask(self.left.ref, "ListDevices"))

    def exchange(self, connection):
        head = self.peer.header("request", self.left.ref)
        connection.send([msgpack.packb(head), msgpack.packb({"ListDevices": {}})])
        reply_head, reply = connection.receive()
        self.assertEqual(msgpack.unpackb(reply_head)["id"], head["id"])
        return msgpack.unpackb(reply)

    def connect(self, identity=b""):
        connection = ZmtpConnection(self.left.ref["at"], identity)
        self.addCleanup(connection.close)
        return connection

    def test_routing_ids_of_every_kind_are_served(self):
        for identity in (b"", b"plain", b"\0\1\2\3\4", b"\0", b"x" * 255, bytes(range(256))[1:],
                         b"left", b"left/0123456789abcdef"):
            with self.subTest(identity=identity[:8]):
                self.assertIn("Ok", self.exchange(self.connect(identity)))

    def test_a_connection_that_takes_over_a_routing_id_is_served(self):
        first = self.connect(b"same")
        self.assertIn("Ok", self.exchange(first))
        self.assertIn("Ok", self.exchange(self.connect(b"same")))

    def test_a_frame_that_claims_four_gigabytes_ends_its_connection(self):
        resident = self.left.resident_bytes()
        for size in (0xFFFFFFFF, 1 << 40, (1 << 64) - 1, 2 * MIB):
            connection = self.connect()
            connection.socket.sendall(struct.pack(">BQ", connection.LONG, size) + b"x" * 100)
            self.assertTrue(connection.is_closed_by_peer())
        self.assertLess(self.left.resident_bytes(), resident + 64 * MIB)

    def test_what_is_no_zmtp_is_survived(self):
        host, port = self.left.ref["at"].removeprefix("tcp://").rsplit(":", 1)
        for greeting in (b"", b"\0" * 64, b"GET / HTTP/1.1\r\n\r\n", os.urandom(64), b"\xff" * 64):
            with wire.socket.create_connection((host, int(port))) as connection:
                connection.sendall(greeting)

    def test_a_message_that_never_ends_is_survived(self):
        connection = self.connect(b"endless")
        for _ in range(10_000):
            connection.send_frame(b"x", connection.MORE)
        connection.close()
        self.assertTrue(self.peer.ask(self.left.ref, "ListDevices"))

    def test_the_worker_ends_cleanly_with_all_of_them_connected(self):
        connections = [self.connect(identity) for identity in (b"", b"\0x", b"y" * 255)]
        for connection in connections:
            self.assertIn("Ok", self.exchange(connection))
        worker = Worker(DANAUS, "ending")
        self.addCleanup(worker.kill)
        self.assertTrue(self.peer.ask(worker.ref, "ListDevices"))
        half_open = ZmtpConnection(worker.ref["at"], b"half-open")
        self.addCleanup(half_open.close)
        self.assertEqual(worker.terminate(), 0)


if __name__ == "__main__":
    DANAUS = wire.danaus_path()
    unittest.main(verbosity=2)
