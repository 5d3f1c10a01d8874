"""Runs the `danaus` command and workers for the tests of this folder. Standard library only."""

import contextlib
import json
import os
import resource
import select
import signal
import subprocess
import sys
import tempfile
import unittest

PATIENCE_S = 60

danaus = None  # the path of the command; set by main()


def run(*arguments, stdin=b"", **options):
    """The finished command: returncode, stdout and stderr (bytes)."""
    return subprocess.run([danaus, *arguments], input=stdin, capture_output=True,
                          timeout=PATIENCE_S, **options)


@contextlib.contextmanager
def soft_descriptor_limit(soft):
    """What is started within inherits this soft limit; gives the hard one, which stays."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, before[1]))
    try:
        yield before[1]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


class Worker:
    """A `danaus worker` of the test's own."""

    def __init__(self, identity, *options, bind="tcp://127.0.0.1:*"):
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [danaus, "worker", "--identity", identity, "--bind", bind, *options],
            stdout=subprocess.PIPE, stderr=self.log)
        readable, _, _ = select.select([self.process.stdout], [], [], PATIENCE_S)
        line = self.process.stdout.readline() if readable else b""
        if not line:
            log = self.log_text()
            self.stop()
            raise AssertionError(f"worker {identity} is not ready: {log}")
        self.ready = json.loads(line)
        self.ref = self.ready["ref"]

    def log_text(self):
        self.log.seek(0)
        return self.log.read().decode(errors="replace")

    def stop(self, how=signal.SIGTERM):
        """Ends the worker; returns its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        try:
            return self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise
        finally:
            self.process.stdout.close()
            self.log.close()


class CommandTest(unittest.TestCase):
    def worker(self, identity, *options, **settings):
        worker = Worker(identity, *options, **settings)
        self.addCleanup(worker.stop)
        return worker

    def folder(self):
        folder = tempfile.TemporaryDirectory(prefix="danaus test ")  # a blank in every path
        self.addCleanup(folder.cleanup)
        return folder.name

    def ok(self, *arguments, **options):
        """The stdout of a command that must succeed, as JSON."""
        result = run(*arguments, **options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def refused(self, code, *arguments, **options):
        """The stderr of a command that must end with `code` and print nothing else."""
        result = run(*arguments, **options)
        self.assertEqual(result.returncode, code, (result.stdout, result.stderr))
        self.assertEqual(result.stdout, b"")
        return result.stderr.decode()

    def inject(self, ref, message, fields=None, **options):
        """The `Ok` of a reply."""
        return self.ok("inject", ref, message, json.dumps(fields or {}), **options)["Ok"]

    def inject_err(self, ref, message, fields=None):
        """The `Err` of a reply; checks that the exit code is 1."""
        result = run("inject", ref, message, json.dumps(fields or {}))
        self.assertEqual(result.returncode, 1, (result.stdout, result.stderr))
        return json.loads(result.stdout)["Err"]


def main():
    global danaus
    danaus = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
