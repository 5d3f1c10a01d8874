#!/usr/bin/env python3
"""Checks messages/golden/vectors.json with python3-msgpack alone, no code of Danaus.

What another language would do with the wire: decode each vector, compare it with the JSON that it
means, encode it again to the same bytes. Also: the file is what make_golden.py writes, it covers
every message that SPEC.md lists, and each refused vector breaks a rule of SPEC.md that can be
checked here.
"""

import json
import pathlib
import re
import unittest

import make_golden
import msgpack

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = json.loads((ROOT / "messages/golden/vectors.json").read_text(encoding="utf-8"))
SPEC = (ROOT / "messages/SPEC.md").read_text(encoding="utf-8")
# A message's section states its reply; a value's does not.
MESSAGE_NAMES = {name for name, body in re.findall(r"^### `(\w+)`(.*?)(?=^#|\Z)", SPEC,
                                                   re.MULTILINE | re.DOTALL)
                 if "\nReply: " in body}
ERROR_CODES = set(re.findall(r"^\| `(\w+)` \| [^|]*\|$", SPEC, re.MULTILINE))


def unpack(raw):
    return msgpack.unpackb(raw, raw=False, strict_map_key=True)


class GoldenVectors(unittest.TestCase):
    def test_the_file_is_what_the_generator_writes(self):
        written = (ROOT / "messages/golden/vectors.json").read_text(encoding="utf-8")
        self.assertEqual(written, make_golden.text())

    def test_vectors_decode_to_the_json_that_they_mean(self):
        for vector in GOLDEN["vectors"]:
            with self.subTest(kind=vector["kind"], name=vector["name"]):
                value = unpack(bytes.fromhex(vector["hex"]))
                self.assertEqual(make_golden.as_json(value), vector["json"])

    def test_vectors_encode_to_the_same_bytes(self):
        for vector in GOLDEN["vectors"]:
            with self.subTest(kind=vector["kind"], name=vector["name"]):
                value = unpack(bytes.fromhex(vector["hex"]))
                self.assertEqual(msgpack.packb(value).hex(), vector["hex"])

    def test_accepted_vectors_decode_and_have_a_canonical_form(self):
        for vector in GOLDEN["accepted"]:
            with self.subTest(kind=vector["kind"], name=vector["name"]):
                unpack(bytes.fromhex(vector["hex"]))
                canonical = unpack(bytes.fromhex(vector["canonical"]))
                self.assertEqual(make_golden.as_json(canonical), vector["json"])

    def test_every_message_of_the_spec_has_a_vector_and_a_reply(self):
        self.assertEqual(len(MESSAGE_NAMES), 18)
        messages = {next(iter(vector["json"])) for vector in GOLDEN["vectors"]
                    if vector["kind"] == "message"}
        replies = {vector["to"] for vector in GOLDEN["vectors"]
                   if vector["kind"] == "reply" and "to" in vector}
        self.assertEqual(messages, MESSAGE_NAMES)
        self.assertEqual(replies, MESSAGE_NAMES)

    def test_refused_vectors_name_an_error_code_of_the_spec(self):
        self.assertIn("Malformed", ERROR_CODES)
        for vector in GOLDEN["refused"]:
            with self.subTest(kind=vector["kind"], name=vector["name"]):
                self.assertIn(vector["error"], ERROR_CODES)

    def test_names_are_unique_within_a_kind(self):
        for section in ("vectors", "accepted", "refused"):
            names = [(vector["kind"], vector["name"]) for vector in GOLDEN[section]]
            self.assertEqual(len(names), len(set(names)))


if __name__ == "__main__":
    unittest.main()
