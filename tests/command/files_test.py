"""`danaus put` and `danaus get`: files whole or not at all, sizes, offsets, exit codes."""

import os
import socket
import subprocess

import harness

KIB = 1 << 10
MIB = 1 << 20
GIB = 1 << 30


class Files(harness.CommandTest):
    def write(self, folder, name, content):
        path = os.path.join(folder, name)
        with open(path, "wb") as file:
            file.write(content)
        return path

    def read(self, path):
        with open(path, "rb") as file:
            return file.read()

    def test_go_into_a_buffer_and_come_back(self):
        worker = self.worker("a", "--buffer", "b=32MiB")
        folder = self.folder()
        # Neither a multiple of the window nor of a page.
        content = os.urandom(21 * MIB + 4711)
        source = self.write(folder, "source", content)
        put = self.ok("put", "--json", source, f"{worker.ref}/b", "--offset", "3MiB")
        self.assertEqual(put["bytes"], len(content))
        self.assertEqual((put["transport"], put["device"]), ("soft", "soft0"))
        self.assertGreater(put["gbytes_per_second"], 0)
        copy = os.path.join(folder, "copy")
        self.ok("get", "--json", f"{worker.ref}/b", copy, "--offset", "3MiB", "--size",
                str(len(content)))
        self.assertEqual(self.read(copy), content)
        # The rest of the buffer is as it was.
        self.ok("get", "--json", f"{worker.ref}/b", copy, "--size", "3MiB")
        self.assertEqual(self.read(copy), bytes(3 * MIB))
        self.assertEqual(sorted(os.listdir(folder)), ["copy", "source"])

    def test_may_be_empty(self):
        worker = self.worker("a", "--buffer", "b=4KiB")
        folder = self.folder()
        empty = self.write(folder, "empty", b"")
        self.assertEqual(self.ok("put", "--json", empty, f"{worker.ref}/b")["bytes"], 0)
        # Also at the buffer's very end.
        self.ok("put", "--json", empty, f"{worker.ref}/b", "--offset", "4KiB")
        copy = os.path.join(folder, "copy")
        self.ok("get", "--json", f"{worker.ref}/b", copy, "--size", "0")
        self.assertEqual(self.read(copy), b"")

    def test_are_told_of_in_a_line_for_people(self):
        worker = self.worker("a", "--buffer", "b=4KiB")
        source = self.write(self.folder(), "source", b"x" * 1024)
        result = harness.run("put", source, f"{worker.ref}/b")
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        self.assertRegex(result.stdout.decode(), r"1 KiB in .* GB/s \(soft over ")

    def test_that_do_not_fit_move_nothing(self):
        worker = self.worker("a", "--buffer", "b=4KiB")
        folder = self.folder()
        source = self.write(folder, "source", b"x" * 4097)
        self.assertIn("4097", self.refused(1, "put", source, f"{worker.ref}/b"))
        small = self.write(folder, "small", b"x")
        for offset in ["4KiB", "18446744073709551615"]:
            self.assertIn("SizeMismatch",
                          self.refused(1, "put", small, f"{worker.ref}/b", "--offset", offset))
        copy = os.path.join(folder, "copy")
        for arguments in [["--size", "4097"], ["--offset", "4097"], ["--offset", "1", "--size", "4KiB"],
                          ["--offset", "1", "--size", "18446744073709551615"]]:
            self.assertIn("OutOfRange", self.refused(1, "get", f"{worker.ref}/b", copy, *arguments))
        self.assertFalse(os.path.exists(copy))
        self.ok("get", "--json", f"{worker.ref}/b", copy)
        self.assertEqual(self.read(copy), bytes(4096))

    def test_keep_what_was_there_when_a_get_fails(self):
        worker = self.worker("a", "--buffer", "b=4KiB")
        folder = self.folder()
        old = self.write(folder, "old", b"precious")
        self.refused(1, "get", f"{worker.ref}/nobody", old)
        self.refused(1, "get", f"{worker.ref}/b", old, "--offset", "5KiB")
        self.assertEqual(self.read(old), b"precious")
        self.assertEqual(os.listdir(folder), ["old"])

    def test_that_cannot_be_written_say_why(self):
        worker = self.worker("a", "--buffer", "b=4KiB")
        folder = self.folder()
        self.assertIn("is a directory", self.refused(1, "get", f"{worker.ref}/b", folder))
        self.assertIn("No such file", self.refused(1, "get", f"{worker.ref}/b",
                                                   os.path.join(folder, "no", "file")))
        self.assertIn("No space left", self.refused(1, "get", f"{worker.ref}/b", "/dev/full"))
        pipe = os.path.join(folder, "pipe")
        os.mkfifo(pipe)
        self.assertIn("cannot open", self.refused(1, "get", f"{worker.ref}/b", pipe))

    def test_that_cannot_be_read_say_why(self):
        worker = self.worker("a", "--buffer", "b=4KiB")
        folder = self.folder()
        self.assertIn("No such file", self.refused(1, "put", os.path.join(folder, "no"),
                                                   f"{worker.ref}/b"))
        self.assertIn("not a regular file", self.refused(1, "put", folder, f"{worker.ref}/b"))
        self.assertIn("says that it is empty",
                      self.refused(1, "put", "/proc/self/maps", f"{worker.ref}/b"))

    def test_go_straight_into_a_pipe(self):
        worker = self.worker("a", "--buffer", "b=4KiB")
        result = harness.run("get", f"{worker.ref}/b", "/dev/stdout")
        self.assertEqual((result.returncode, result.stdout), (0, bytes(4096)))

    def test_far_larger_than_the_memory_that_they_take(self):
        worker = self.worker("a", "--buffer", "b=1GiB")
        folder = self.folder()
        source = os.path.join(folder, "sparse")
        with open(source, "wb") as file:
            file.truncate(GIB)
            file.seek(GIB - 5)
            file.write(b"tail.")
        process = subprocess.Popen([harness.danaus, "put", "--json", source, f"{worker.ref}/b"],
                                   stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0)
        self.assertLess(usage.ru_maxrss * KIB, 256 * MIB)
        tail = os.path.join(folder, "tail")
        self.ok("get", "--json", f"{worker.ref}/b", tail, "--offset", str(GIB - 5))
        self.assertEqual(self.read(tail), b"tail.")

    def test_need_somebody_to_talk_to(self):
        source = self.write(self.folder(), "source", b"x")
        with socket.socket() as nobody:
            nobody.bind(("127.0.0.1", 0))
            ref = f"a@tcp://127.0.0.1:{nobody.getsockname()[1]}"
            self.refused(3, "put", source, f"{ref}/b")
            self.refused(3, "get", f"{ref}/b", source)
            self.refused(3, "status", ref)
        self.refused(2, "put", source, "a@tcp://127.0.0.1:9")
        self.refused(2, "put", source)
        self.refused(2, "get", "a@tcp://127.0.0.1:9/b", "copy", "--size", "1MB")


if __name__ == "__main__":
    harness.main()
