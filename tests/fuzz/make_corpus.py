#!/usr/bin/env python3
"""Writes the seed corpora of the fuzz targets: make_corpus.py GOLDEN_VECTORS FOLDER."""
import json
import os
import struct
import sys


def main(golden, folder):
    def put(target, name, data):
        path = os.path.join(folder, target)
        os.makedirs(path, exist_ok=True)
        with open(os.path.join(path, name), "wb") as file:
            file.write(data)

    with open(golden) as file:
        vectors = json.load(file)
    for group in ("vectors", "accepted", "refused"):
        for index, vector in enumerate(vectors[group]):
            name = f"{group}-{index}"
            target = "fuzz_messages" if vector["kind"] == "message" else "fuzz_envelope"
            put(target, name, bytes.fromhex(vector["hex"]))
            if vector["kind"] == "message" and "json" in vector:
                put(target, name + "-json", json.dumps(vector["json"]).encode())

    def request(opcode, length, flags=0, address=0, operands=(0, 0, 0, 0), payload=b""):
        # RequestHeader (frame.hpp); rkey 1 stands for the right one.
        return struct.pack("<IBBHQQQ4Q", 0, opcode, flags, 0, length, address, 1, *operands) + payload

    write, write_with_immediate, read, compare_swap, fetch_add = 0, 1, 4, 5, 6
    for within_host in (b"\0", b"\1"):
        where = within_host.hex()
        put("fuzz_soft_requests", f"put-{where}", within_host + request(write, 8, payload=b"12345678"))
        put("fuzz_soft_requests", f"get-{where}", within_host + request(read, 4096))
        put("fuzz_soft_requests", f"both-{where}",
            within_host + request(write, 16, payload=b"0123456789abcdef") + request(read, 16))
        put("fuzz_soft_requests", f"add-{where}", within_host + request(fetch_add, 8, operands=(5, 0, 0, 0)))
        put("fuzz_soft_requests", f"swap-{where}", within_host + request(compare_swap, 8, operands=(0, 7, 0, 0)))
        put("fuzz_soft_requests", f"immediate-{where}",
            within_host + request(write_with_immediate, 4, operands=(0, 99, 0, 0), payload=b"abcd"))
        put("fuzz_soft_requests", f"copies-{where}",
            within_host + request(write, 64, flags=1) + request(read, 64, flags=1))
        put("fuzz_soft_requests", f"bounds-{where}", within_host + request(read, 4097))

    def response(sequence, kind, status=0, value=0):
        return struct.pack("<IBBHQ", sequence, kind, status, 0, value)  # Response (frame.hpp)

    completion, data, grant = 1, 2, 3
    # How many requests less one, with the top bit for a right probe; then what each is.
    put("fuzz_soft_responses", "put", b"\x80" + b"\0" + response(0, completion))
    put("fuzz_soft_responses", "get", b"\x80" + b"\1" + response(0, data, value=16) + b"x" * 16 +
        response(0, completion))
    put("fuzz_soft_responses", "three", b"\x82" + b"\5\1\3" + response(0, completion) +
        response(1, data, value=16) + b"y" * 16 + response(1, completion) + response(2, completion, value=3))
    put("fuzz_soft_responses", "error", b"\x81" + b"\1\1" + response(0, completion, status=10))
    put("fuzz_soft_responses", "grant", b"\x80" + b"\1" + response(0, grant, value=4096))
    put("fuzz_soft_responses", "no-probe", b"\0" + b"\0" + b"z" * 32)


if __name__ == "__main__":
    main(*sys.argv[1:])
