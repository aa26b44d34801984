"""Another machine needs a certificate that this host's authority signed."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import unittest
from argparse import Namespace
from pathlib import Path
from typing import Any
from unittest import mock

import grpc

from holdfast_host.generated import policy_pb2 as pb
from holdfast_host.health import HEALTH_SERVICE, SERVING
from holdfast_host.pairing import Pairing
from holdfast_host.server import SERVICE
from holdfast_host.trust import trust_for
from holdfast_host.usage import UsageError, address_of

from .fixture import HANG_S, hello
from .test_server import Edge

NAME = "host.holdfast.internal"


def openssl(*arguments: str) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)


def authority(folder: str, name: str) -> None:
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    out = ("-keyout", f"{folder}/{name}.key", "-out", f"{folder}/{name}.pem")
    openssl("req", "-x509", *key, *out, "-subj", f"/CN={name}", "-days", "2")


def certificate(folder: str, name: str, signer: str) -> None:
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    request = f"{folder}/{name}.csr"
    openssl("req", *key, "-keyout", f"{folder}/{name}.key", "-out", request, "-subj", f"/CN={name}")
    names = f"{folder}/{name}.ext"
    with open(names, "w", encoding="ascii") as file:
        file.write(f"subjectAltName=DNS:{NAME}\n")
    by = ("-CA", f"{folder}/{signer}.pem", "-CAkey", f"{folder}/{signer}.key", "-CAcreateserial")
    out = ("-out", f"{folder}/{name}.pem", "-days", "2", "-extfile", names)
    openssl("x509", "-req", "-in", request, *by, *out)


def read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def fingerprint(folder: str, name: str) -> str:
    """By openssl's own reading of the certificate."""
    public = ("x509", "-in", f"{folder}/{name}.pem", "-pubkey", "-noout", "-out", f"{folder}/pub")
    openssl(*public)
    openssl("pkey", "-pubin", "-in", f"{folder}/pub", "-outform", "DER", "-out", f"{folder}/spki")
    digest = hashlib.sha256(read(f"{folder}/spki")).digest()
    return "SHA256:" + base64.urlsafe_b64encode(digest).decode().rstrip("=")


def write(path: Path, told: object, mode: int = 0o600) -> None:
    """As pairing writes: whole or not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".new")
    beside.write_text(json.dumps(told), encoding="utf-8")
    beside.chmod(mode)
    beside.rename(path)


class TlsTest(unittest.TestCase):
    """A host that shows the certificate of an authority, and robots of that one and of another."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        for name in ("ours", "theirs"):
            authority(self.folder, name)
        for name in ("host", "robot", "unlisted"):
            certificate(self.folder, name, "ours")
        certificate(self.folder, "stranger", "theirs")
        policy = "class Null(Policy):\n    def act(self, observation): return None\n"
        text = f"from holdfast_host import Policy\n{policy}"
        Path(self.folder, "tls_policy.py").write_text(text, encoding="utf-8")

    def test_with_files_whoever_the_authority_signed_is_heard(self) -> None:
        folder = self.folder
        files = ("--tls-cert", f"{folder}/host.pem", "--tls-key", f"{folder}/host.key")
        self.start("127.0.0.1:0", *files, "--tls-ca", f"{folder}/ours.pem")
        self.assertEqual(self.describe("robot"), 1)
        for name in (None, "stranger"):
            with self.assertRaises(grpc.RpcError):
                self.describe(name)
        with self.assertRaises(grpc.RpcError):
            self.call(grpc.insecure_channel(f"127.0.0.1:{self.port}"))

    def test_paired_robots_are_heard_until_they_are_revoked(self) -> None:
        self.pair()
        self.start("0.0.0.0:0")
        self.assertIn(f"its key: {fingerprint(self.folder, 'host')}", self.told)
        self.assertIn("paired robots: arm", self.told)
        self.assertNotRegex(self.told, "grpc://0.0.0.0")
        self.assertEqual(self.describe("robot"), 1)
        with self.assertRaises(grpc.RpcError) as caught:
            self.describe("unlisted")
        self.assertEqual(caught.exception.code(), grpc.StatusCode.UNAUTHENTICATED)
        self.assertEqual([self.health("robot", name) for name in ("Check", "Watch")], [SERVING] * 2)
        for name in ("Check", "Watch"):
            with self.assertRaises(grpc.RpcError) as caught:
                self.health("unlisted", name)
            self.assertEqual(caught.exception.code(), grpc.StatusCode.UNAUTHENTICATED)
        watch = self.watch(self.channel("robot"))
        self.assertEqual(next(watch), SERVING)
        unlisted = Edge(self.channel("unlisted"))
        unlisted.send(hello=hello())
        self.assertEqual(unlisted.next().refusal.field, "certificate")
        robot = Edge(self.channel("robot"))
        robot.greet()
        self.pair(is_revoked=True)
        self.assertEqual(robot.talk_until("refusal").refusal.field, "certificate")
        with self.assertRaises(grpc.RpcError) as caught:
            next(watch)
        self.assertEqual(caught.exception.code(), grpc.StatusCode.UNAUTHENTICATED)

    def test_without_a_robot_that_may_come_it_does_not_listen(self) -> None:
        self.pair(is_revoked=True)
        values = Namespace(listen="0.0.0.0:0", tls_cert=None, tls_key=None, tls_ca=None)
        here = mock.patch.dict(os.environ, {"XDG_STATE_HOME": f"{self.folder}/state"})
        with here, self.assertRaisesRegex(UsageError, "expected a paired robot"):
            trust_for(values, address_of("--listen", values.listen))

    def test_files_that_others_can_read_or_that_pairing_did_not_write_are_told(self) -> None:
        self.pair()
        pairing = Pairing(Path(self.folder, "state"))
        identity = Path(self.folder, "state/holdfast/pairing/host/identity.json")
        identity.chmod(0o640)
        with self.assertRaisesRegex(UsageError, "its owner alone .chmod 600 .* found mode 640"):
            pairing.identity()
        write(identity, {"host": "no"})
        with self.assertRaisesRegex(UsageError, "expected what pairing wrote"):
            pairing.identity()

    def pair(self, is_revoked: bool = False) -> None:
        """What holdfast pair host leaves, once a robot has come."""
        host = Path(self.folder, "state/holdfast/pairing/host")
        pair = {
            who: {
                "key": read(f"{self.folder}/{name}.key").decode(),
                "certificate": read(f"{self.folder}/{name}.pem").decode(),
            }
            for who, name in (("authority", "ours"), ("host", "host"))
        }
        write(host / "identity.json", pair)
        shown = fingerprint(self.folder, "robot")
        robot = {"name": "arm", "fingerprint": shown, "isRevoked": is_revoked}
        write(host / "robots/arm.json", robot)

    def start(self, listen: str, *options: str) -> None:
        command = [sys.executable, "-m", "holdfast_host", "--policy", "tls_policy:Null"]
        env = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join((self.folder, os.getcwd())),
            "XDG_STATE_HOME": f"{self.folder}/state",
        }
        arguments = [*command, "--listen", listen, *options]
        host = subprocess.Popen(
            arguments, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert host.stdout is not None
        self.addCleanup(host.stdout.close)
        self.addCleanup(host.wait)
        self.addCleanup(host.terminate)
        self.told = ""
        while "on the robot: " not in self.told:
            line = host.stdout.readline()
            self.assertNotEqual(line, "", "the host ended")
            self.told += line
        self.port = self.told.rpartition(":")[2].strip()

    def channel(self, name: str | None) -> grpc.Channel:
        root = read(f"{self.folder}/ours.pem")
        shown = [read(f"{self.folder}/{name}.{kind}") for kind in ("key", "pem")] if name else []
        credentials = grpc.ssl_channel_credentials(root, *shown)
        options = [("grpc.ssl_target_name_override", NAME)]
        channel = grpc.secure_channel(f"127.0.0.1:{self.port}", credentials, options)
        self.addCleanup(channel.close)
        return channel

    def health(self, name: str, method: str) -> Any:
        """What Check answers, and Watch first."""
        channel = self.channel(name)
        if method == "Watch":
            return next(self.watch(channel))
        return channel.unary_unary(f"/{HEALTH_SERVICE}/Check")(b"", timeout=HANG_S)

    def watch(self, channel: grpc.Channel) -> Any:
        return channel.unary_stream(f"/{HEALTH_SERVICE}/Watch")(b"", timeout=HANG_S)

    def describe(self, name: str | None) -> int:
        return self.call(self.channel(name))

    def call(self, channel: grpc.Channel) -> int:
        describe = channel.unary_unary(
            f"/{SERVICE}/Describe",
            request_serializer=pb.DescribeRequest.SerializeToString,
            response_deserializer=pb.DescribeReply.FromString,
        )
        with channel:
            reply: pb.DescribeReply = describe(pb.DescribeRequest(), timeout=HANG_S)
        version: int = reply.protocol_version
        return version
