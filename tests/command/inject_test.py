"""`danaus inject`: every message by hand, and what it says to wrong input."""

import json
import socket

import harness

RTS = 3


def soft_pair(other):
    return {"other": other, "self_device": "soft0", "other_device": "soft0"}


class Inject(harness.CommandTest):
    def test_lists_all_messages_with_their_fields(self):
        listing = harness.run("inject", "--list")
        self.assertEqual(listing.returncode, 0)
        for name in ["RequestBuffer {addr: u64, size: u64} -> RdmaBuffer", "ReleaseBuffer",
                     "RequestQueuePair", "Connect ", "InitializeQP", "ConnectionInfo",
                     "ReleaseQueuePair", "GetQpState", "ListDevices", "ListBuffers", "LookupBuffer",
                     "Transfer", "Atomic ", "GetStats", "ConnectPeer", "PeerReady", "AbandonPeer", "ClosePeer"]:
            self.assertIn(name, listing.stdout.decode())

    def test_drives_the_stepwise_handshake_and_a_transfer_over_that_pair(self):
        a = self.worker("a", "--buffer", "b=1MiB").ref
        b = self.worker("b", "--buffer", "b=1MiB").ref
        for own, other in [(a, b), (b, a)]:
            self.assertIs(self.inject(own, "InitializeQP", soft_pair(other)), True)
        endpoints = {own: self.inject(own, "ConnectionInfo", soft_pair(other))
                     for own, other in [(a, b), (b, a)]}
        for own, other in [(a, b), (b, a)]:
            connect = {**soft_pair(other), "endpoint": endpoints[other]}
            self.assertIsNone(self.inject(own, "Connect", connect))
            # The same endpoint again is no conflict.
            self.assertIsNone(self.inject(own, "Connect", connect))
        for own, other in [(a, b), (b, a)]:
            self.assertEqual(self.inject(own, "GetQpState", soft_pair(other)), RTS)

        remote = self.inject(a, "LookupBuffer", {"name": "b"})
        result = self.inject(b, "Transfer", {
            "op": "get", "local": {"buffer": "b", "offset": 4096}, "remote": remote, "offset": 0,
            "length": 65536, "timeout_ms": 10000})
        self.assertEqual((result["bytes"], result["transport"]), (65536, "soft"))
        # It went over the pair that was there: no second one was made.
        stats = self.inject(b, "GetStats")
        self.assertEqual([pair["queue_pair"]["qp_num"] for pair in stats["queue_pairs"]],
                         [endpoints[b]["qp_num"]])

    def test_carries_out_atomics(self):
        a = self.worker("a").ref
        b = self.worker("b", "--buffer", "counters=16").ref
        remote = self.inject(b, "LookupBuffer", {"name": "counters"})
        add = {"op": "fetch_add", "remote": remote, "offset": 8, "add": 3, "timeout_ms": 10000}
        self.assertEqual(self.inject(a, "Atomic", add)["value"], 0)
        swap = {"op": "compare_swap", "remote": remote, "offset": 8, "compare": 3,
                "swap": 18446744073709551615, "timeout_ms": 10000}
        self.assertEqual(self.inject(a, "Atomic", swap)["value"], 3)
        self.assertEqual(self.inject(a, "Atomic", {**add, "add": 0})["value"],
                         18446744073709551615)
        self.assertEqual(self.inject_err(a, "Atomic", {**add, "offset": 4})["code"],
                         "InvalidArgument")
        self.assertEqual(self.inject_err(a, "Atomic", {**add, "offset": 16})["code"],
                         "OutOfRange")

    def test_drives_the_other_messages(self):
        a = self.worker("a", "--buffer", "b=1MiB").ref
        b = self.worker("b").ref
        buffer = self.inject(a, "LookupBuffer", {"name": "b"})
        part = self.ok("inject", "--identity", "me", a, "RequestBuffer",
                       json.dumps({"addr": buffer["addr"], "size": 4096}))["Ok"]
        self.assertEqual(part["size"], 4096)
        # Only who registered it may release it, and once.
        self.assertEqual(self.inject_err(a, "ReleaseBuffer", {"buffer": part})["code"],
                         "PermissionDenied")
        self.assertIsNone(self.ok("inject", "--identity", "me", a, "ReleaseBuffer",
                                  json.dumps({"buffer": part}))["Ok"])
        self.assertEqual(self.inject_err(a, "ReleaseBuffer", {"buffer": part})["code"], "NotFound")
        pair = self.inject(a, "RequestQueuePair", soft_pair(b))
        self.assertEqual(pair["state"], RTS)
        self.assertIsNone(self.inject(a, "ReleaseQueuePair", {**soft_pair(b), "qp": pair}))
        self.assertIsNone(self.inject(a, "ClosePeer", soft_pair(b)))
        self.assertEqual(self.inject_err(a, "GetQpState", soft_pair(b))["code"], "NotFound")
        self.assertEqual(self.inject_err(b, "GetQpState", soft_pair(a))["code"], "NotFound")
        self.assertEqual([device["name"] for device in self.inject(a, "ListDevices")], ["soft0"])
        self.assertEqual([entry["name"] for entry in self.inject(a, "ListBuffers")], ["b"])

    def test_drives_the_connect_messages(self):
        a = self.worker("a").ref
        b = self.worker("b").ref
        self.inject(a, "InitializeQP", soft_pair(b))
        endpoint = self.inject(a, "ConnectionInfo", soft_pair(b))
        devices = {"self_device": "soft0", "other_device": "soft0"}
        connect = {**devices, "transport": "soft", "attempt": 7, "endpoint": endpoint}
        reply = self.ok("inject", "--identity", "a", b, "ConnectPeer", json.dumps(connect))["Ok"]
        self.assertEqual(reply["state"], RTS)
        # An attempt belongs to one life of its sender; each `inject` is a life of its own, unless
        # it is told.
        for message in ["PeerReady", "AbandonPeer"]:
            result = harness.run("inject", "--identity", "a", b, message,
                                 json.dumps({**devices, "attempt": 7}))
            self.assertEqual(result.returncode, 1)
            self.assertEqual(json.loads(result.stdout)["Err"]["code"], "NotFound")
        life = ["--identity", "a", "--incarnation", "0123456789abcdef" * 2]
        connect["attempt"] = 8
        self.ok("inject", *life, b, "ConnectPeer", json.dumps(connect))
        for message in ["PeerReady", "AbandonPeer"]:
            reply = self.ok("inject", *life, b, message, json.dumps({**devices, "attempt": 8}))
            self.assertIsNone(reply["Ok"])
        self.assertEqual(self.inject_err(b, "GetQpState", soft_pair(a))["code"], "NotFound")

    def test_reads_the_fields_from_standard_input(self):
        a = self.worker("a", "--buffer", "b=1MiB").ref
        reply = self.ok("inject", a, "LookupBuffer", "-", stdin=b'{"name": "b"}')
        self.assertEqual(reply["Ok"]["size"], 1 << 20)

    def test_sends_a_cast_and_prints_nothing(self):
        a = self.worker("a").ref
        result = harness.run("inject", "--cast", a, "PeerReady",
                             '{"self_device": "", "other_device": "", "attempt": 1}')
        self.assertEqual((result.returncode, result.stdout), (0, b""))

    def test_prints_an_error_reply_as_json(self):
        a = self.worker("a").ref
        self.assertEqual(self.inject_err(a, "LookupBuffer", {"name": "x\x1b[2J"})["code"],
                         "NotFound")
        error = self.inject_err(a, "InitializeQP", {**soft_pair("b@tcp://127.0.0.1:9"),
                                                    "self_device": "mlx5_0"})
        self.assertEqual(error["code"], "UnknownDevice")
        self.assertIn("soft0", error["message"])

    def test_names_what_is_right_where_the_input_is_wrong(self):
        a = "a@tcp://127.0.0.1:9"
        self.assertIn('did you mean "RequestBuffer"', self.refused(2, "inject", a, "RequestBufer"))
        self.assertIn("{addr: u64, size: u64}",
                      self.refused(2, "inject", a, "RequestBuffer", '{"adr": 1, "size": 2}'))
        self.assertIn("line 1, column 2", self.refused(2, "inject", a, "RequestBuffer", "{addr: 1}"))
        self.assertIn("ms or s", self.refused(2, "inject", a, "ListDevices", "--timeout", "5"))
        self.assertIn("REF", self.refused(2, "inject"))
        self.assertIn("--identity", self.refused(2, "inject", a, "ListDevices", "--identiti", "x"))
        self.refused(2, "inject", "nobody", "ListDevices")
        self.refused(2, "inject", "--identity", "a b", a, "ListDevices")
        self.assertIn("empty", self.refused(2, "inject", a, "ListDevices", "-"))
        self.assertIn("1048576", self.refused(2, "inject", a, "LookupBuffer", "-", stdin=json.dumps(
            {"name": "x" * 1048576}).encode()))
        for life in ["12", "0123456789abcdef0123456789abcdeg"]:
            self.assertIn("32", self.refused(2, "inject", "--incarnation", life, a, "ListDevices"))

    def test_tells_no_answer_from_a_bad_one(self):
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            port = listener.getsockname()[1]
            # Bound, not listening: refused.
            self.assertIn("[", self.refused(3, "inject", f"a@tcp://127.0.0.1:{port}", "ListDevices"))
            # Listening, never answering.
            listener.listen()
            self.refused(3, "inject", "--timeout", "500ms", f"a@tcp://127.0.0.1:{port}",
                         "ListDevices")

    def test_is_refused_a_device_name_that_is_too_long(self):
        a = self.worker("a", "--buffer", "b=64KiB").ref
        long = "x" * 65
        endpoint = self.inject(a, "LookupBuffer", {"name": "b"})
        for other in ["x@tcp://127.0.0.1:9", "x@", a]:
            pair = {"other": {"id": other.split("@")[0], "at": other.split("@")[1]},
                    "self_device": "soft0", "other_device": long}
            for message in ["RequestQueuePair", "InitializeQP", "ConnectionInfo", "GetQpState",
                            "ClosePeer"]:
                self.assertEqual(self.inject_err(a, message, pair)["code"], "InvalidArgument",
                                 (message, other))
        for alternates in [[], endpoint["alternates"]]:
            error = self.inject_err(a, "Transfer", {
                "op": "get", "local": {"buffer": "b", "offset": 0}, "offset": 0, "length": 8,
                "timeout_ms": 5000,
                "remote": {**endpoint, "device_name": long, "alternates": alternates}})
            self.assertIn(error["code"], ["InvalidArgument", "UnknownDevice"])
        self.assertEqual([entry["name"] for entry in self.inject(a, "ListBuffers")], ["b"])

    def test_reaches_only_who_it_names(self):
        endpoint = self.worker("a").ref.split("@")[1]
        self.assertEqual(self.inject_err(f"b@{endpoint}", "ListDevices")["code"],
                         "WrongAddressee")


if __name__ == "__main__":
    harness.main()
