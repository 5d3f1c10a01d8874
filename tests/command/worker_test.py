"""`danaus worker`, `status` and `devices`: start, end, configuration, what they show."""

import os
import resource
import signal
import subprocess

import harness


class Worker(harness.CommandTest):
    def test_says_that_it_is_ready_in_one_line(self):
        worker = self.worker("a", "--buffer", "x=64KiB", "--buffer", "y=1", "--soft-devices", "2")
        self.assertRegex(worker.ref, r"^a@tcp://127\.0\.0\.1:[1-9][0-9]*$")
        self.assertRegex(worker.ready["incarnation"], "^[0-9a-f]{32}$")
        self.assertEqual(worker.ready["pid"], worker.process.pid)
        self.assertEqual(worker.ready["devices"], ["soft0", "soft1"])
        self.assertEqual(worker.ready["buffers"], {"x": 65536, "y": 1})

    def test_ends_with_0_on_sigterm_and_on_sigint(self):
        for how in [signal.SIGTERM, signal.SIGINT]:
            self.assertEqual(self.worker("a", "--buffer", "x=64KiB").stop(how), 0)

    def test_uses_all_the_descriptors_that_it_may(self):
        with harness.soft_descriptor_limit(256) as hard:
            worker = self.worker("a")
        self.assertEqual(resource.prlimit(worker.process.pid, resource.RLIMIT_NOFILE),
                         (hard, hard))

    def test_reads_a_config_file_and_lets_the_command_line_go_first(self):
        path = os.path.join(self.folder(), "worker.toml")
        with open(path, "w") as file:
            file.write('# a worker\nidentity = "from-file"\nbind = "tcp://127.0.0.1:*"\n'
                       'buffer = ["x=64KiB", "y=1"]\nsoft-devices = 2\nregister-policy = "any"\n')
        worker = self.worker("a", "--config", path)
        self.assertTrue(worker.ref.startswith("a@"))
        self.assertEqual(worker.ready["buffers"], {"x": 65536, "y": 1})
        self.assertEqual(worker.ready["devices"], ["soft0", "soft1"])

    def test_names_what_is_wrong_with_its_options(self):
        base = ["worker", "--identity", "a", "--bind", "tcp://127.0.0.1:*"]
        self.assertIn("--identity", self.refused(2, "worker", "--bind", "tcp://127.0.0.1:*"))
        self.assertIn("--bind", self.refused(2, "worker", "--identity", "a"))
        self.assertIn("a b", self.refused(2, "worker", "--identity", "a b", *base[3:]))
        self.assertIn("KiB", self.refused(2, *base, "--buffer", "x=1MB"))
        self.assertIn("twice", self.refused(2, *base, "--buffer", "x=1", "--buffer", "x=2"))
        self.assertIn("65536", self.refused(2, *base, "--data-port", "65536"))
        self.assertIn("offered", self.refused(2, *base, "--register-policy", "all"))
        self.assertIn("auto", self.refused(2, *base, "--soft-path", "fast"))
        self.assertIn("--advertise", self.refused(2, *base[:3], "--bind", "tcp://0.0.0.0:*"))
        self.assertIn('did you mean "--insecure"', self.refused(2, *base, "--insecur"))
        # Those of later releases are not there yet.
        self.refused(2, *base, "--keyring", "keys")
        path = os.path.join(self.folder(), "worker.toml")
        with open(path, "w") as file:
            file.write('identiti = "a"\n')
        self.assertIn("identiti", self.refused(2, *base, "--config", path))

    def test_does_not_start_where_it_cannot_serve(self):
        taken = self.worker("a").ref.split("@")[1]
        self.assertIn(taken, self.refused(1, "worker", "--identity", "b", "--bind", taken))
        self.assertIn("insecure", self.refused(1, "worker", "--identity", "b", "--bind",
                                               "tcp://0.0.0.0:*", "--advertise",
                                               "tcp://127.0.0.1:9"))
        self.assertIn("soft0", self.refused(1, "worker", "--identity", "b", "--bind",
                                            "tcp://127.0.0.1:*", "--device", "mlx5_0"))
        self.refused(1, "worker", "--identity", "b", "--bind", "tcp://127.0.0.1:*",
                     "--require-rdma")

    def test_goes_on_when_nobody_reads_its_output(self):
        worker = self.worker("a", "--log-level", "debug")
        worker.process.stdout.close()
        self.ok("inject", worker.ref, "GetStats")
        self.assertEqual(worker.process.poll(), None)

    def test_is_shown_by_status(self):
        worker = self.worker("a", "--buffer", "x=64KiB")
        other = self.worker("b")
        self.inject(worker.ref, "RequestQueuePair",
                    {"other": other.ref, "self_device": "", "other_device": ""})
        status = self.ok("status", "--json", worker.ref)
        self.assertEqual(status["stats"]["incarnation"], worker.ready["incarnation"])
        self.assertEqual([buffer["name"] for buffer in status["buffers"]], ["x"])
        text = harness.run("status", worker.ref).stdout.decode()
        for shown in [worker.ref, other.ref, "soft0", "x  ", "64 KiB", "RTS", "ready"]:
            self.assertIn(shown, text)


class Devices(harness.CommandTest):
    def test_are_shown_without_a_worker(self):
        devices = self.ok("devices", "--json")
        self.assertIn(("soft0", True), [(device["name"], device["usable"]) for device in devices])
        self.assertIn("soft0", harness.run("devices").stdout.decode())
        verbose = harness.run("devices", "--verbose").stdout.decode()
        for name in devices[0]["attributes"]:
            self.assertIn(f"{name}: ", verbose)


class Danaus(harness.CommandTest):
    def test_prints_its_version_and_its_subcommands(self):
        version = harness.run("--version")
        self.assertEqual(version.returncode, 0)
        self.assertRegex(version.stdout.decode(), r"^danaus \d+\.\d+\.\d+\n$")
        usage = harness.run("--help").stdout.decode()
        for name in ["worker", "put", "get", "inject", "status", "devices"]:
            self.assertIn(f"  {name}", usage)
            self.assertEqual(harness.run(name, "--help").returncode, 0)

    def test_names_the_subcommand_behind_a_typing_error(self):
        self.assertIn('did you mean "status"', self.refused(2, "statsu"))
        self.assertIn("subcommand is missing", self.refused(2))
        self.refused(2, "bench")
        self.refused(2, "keygen")

    def test_fails_where_its_output_cannot_be_written(self):
        with open("/dev/full", "w") as full:
            result = subprocess.run([harness.danaus, "--version"], stdout=full,
                                    stderr=subprocess.PIPE, timeout=harness.PATIENCE_S)
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"No space left", result.stderr)


if __name__ == "__main__":
    harness.main()
