"""What cannot be used is refused in one line with expected and found, and exit code 2."""

import contextlib
import io
import os
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from holdfast_host.cli import main

from .fixture import module_of

MODULE = """
from holdfast_host import Policy

class Right(Policy):
    def act(self, observation):
        return None

class NoAct(Policy): pass
class Long(Right): horizon = 65
class Fast(Right): dt_s = 0
class Strange(Right): space = "joint_torque"
class Lone(Right): requires = "cube_pose"
class Often(Right): accepts_jpeg = "often"
other = 3
"""
module_of("cli_policies", MODULE)


def told(*given: str) -> str:
    err = io.StringIO()
    nothing_paired = mock.patch.dict(os.environ, {"XDG_STATE_HOME": "/nonexistent"})
    with nothing_paired, contextlib.redirect_stderr(err):
        code = main(given)
    assert code == 2, f"exit code {code}"
    return err.getvalue()


class CliTest(unittest.TestCase):
    def test_each_bad_option_is_told_with_expected_and_found(self) -> None:
        right = ("--policy", "cli_policies:Right")
        there = "Fast, Lone, Long, NoAct, Often, Right, Strange"
        module = 'a module in this folder or on PYTHONPATH, without .py, found "no_such"'
        cases = [
            ((), "the command line: expected options as in --help, found the following"),
            (
                ("--policy", "wave"),
                '--policy: expected module:Class, such as wave:Wave, found "wave"',
            ),
            (("--policy", "no_such:Wave"), f"--policy: expected {module}"),
            (("--policy", "cli_policies:other"), f'that extends Policy ({there}), found "other"'),
            (
                ("--policy", "cli_policies:NoAct"),
                "NoAct.act: expected a method of its own, found none",
            ),
            (
                ("--policy", "cli_policies:Long"),
                "Long.horizon: expected a whole number from 1 to 64, found 65",
            ),
            (
                ("--policy", "cli_policies:Fast"),
                "Fast.dt_s: expected seconds above 0 and up to 1, found 0",
            ),
            (
                ("--policy", "cli_policies:Strange"),
                "Strange.space: expected joint_pos or joint_vel",
            ),
            (
                ("--policy", "cli_policies:Lone"),
                'Lone.requires: expected names, such as ("cube_pose",)',
            ),
            (
                ("--policy", "cli_policies:Often"),
                "Often.accepts_jpeg: expected True or False, found 'often'",
            ),
            (
                (*right, "--listen", "nowhere:99999"),
                "--listen: expected an address such as 127.0.0.1:7777",
            ),
            (
                (*right, "--listen", "0.0.0.0:7777"),
                '--listen "0.0.0.0:7777": expected a paired robot (type holdfast pair host;',
            ),
            ((*right, "--listen", "robot-7"), '--listen "robot-7": expected a paired robot'),
            (
                (*right, "--listen", "192.168.0.4"),
                "on this machine alone: 127.0.0.1:7777)",
            ),
            ((*right, "--tls-cert", "a.pem"), "--tls-key: expected all three of --tls-cert"),
            ((*right, "--promise", "80"), "--promise: expected a length such as 150ms or 2s"),
            ((*right, "--warm-up", "-1"), "--warm-up: expected a whole number from 0 to 1000"),
            ((*right, "--listne", "x"), "found unrecognized arguments: --listne x"),
        ]
        for given, text in cases:
            with self.subTest(given=given):
                line = told(*given)
                self.assertIn(text, line)
                self.assertEqual(line.count("\n"), 1)

    def test_files_of_tls_must_be_there_and_pem(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            empty = os.path.join(folder, "empty")
            Path(empty).write_bytes(b"")
            policy = ("--policy", "cli_policies:Right", "--listen", "0.0.0.0:0")
            files = ("--tls-key", empty, "--tls-ca", empty)
            self.assertIn("No such file", told(*policy, "--tls-cert", f"{folder}/none", *files))
            self.assertIn("expected a PEM file", told(*policy, "--tls-cert", empty, *files))

    def test_a_module_that_fails_is_told_with_its_line(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "cli_broken.py").write_text("import os\nlambda: (\n1 / 0\n)\n1 / 0\n")
            Path(folder, "cli_needs.py").write_text("import no_such_library\n")
            sys.path.insert(0, folder)
            try:
                broken = told("--policy", "cli_broken:Wave")
                needs = told("--policy", "cli_needs:Wave")
            finally:
                sys.path.remove(folder)
        self.assertIn("found ZeroDivisionError: division by zero (", broken)
        self.assertIn("cli_broken.py:5)", broken)
        self.assertIn("found No module named 'no_such_library'", needs)
