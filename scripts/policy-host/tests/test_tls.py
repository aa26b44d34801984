"""Another machine needs a certificate that this host's authority signed."""

import os
import subprocess
import sys
import tempfile
import unittest

import grpc

from holdfast_host.generated import policy_pb2 as pb
from holdfast_host.server import SERVICE

from .fixture import HANG_S

NAME = "holdfast-host"


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


class TlsTest(unittest.TestCase):
    def test_a_robot_without_the_right_certificate_hears_nothing(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for name in ("ours", "theirs"):
                authority(folder, name)
            certificate(folder, "host", "ours")
            certificate(folder, "robot", "ours")
            certificate(folder, "stranger", "theirs")
            with open(f"{folder}/tls_policy.py", "w", encoding="ascii") as file:
                file.write("from holdfast_host import Policy\n")
                file.write("class Null(Policy):\n    def act(self, observation): return None\n")
            files = ("--tls-cert", f"{folder}/host.pem", "--tls-key", f"{folder}/host.key")
            self.port = self.start(folder, *files, "--tls-ca", f"{folder}/ours.pem")
            root = read(f"{folder}/ours.pem")
            pairs = {
                name: (read(f"{folder}/{name}.key"), read(f"{folder}/{name}.pem"))
                for name in ("robot", "stranger")
            }
            self.assertEqual(self.describe(root, *pairs["robot"]), 1)
            for key, cert in ((None, None), pairs["stranger"]):
                with self.assertRaises(grpc.RpcError):
                    self.describe(root, key, cert)
            with self.assertRaises(grpc.RpcError):
                self.call(grpc.insecure_channel(f"127.0.0.1:{self.port}"))

    def start(self, folder: str, *options: str) -> str:
        command = [sys.executable, "-m", "holdfast_host", "--policy", "tls_policy:Null"]
        path = os.pathsep.join(["" if each is None else each for each in (folder, os.getcwd())])
        host = subprocess.Popen(
            [*command, "--listen", "127.0.0.1:0", *options],
            env={**os.environ, "PYTHONPATH": path},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert host.stdout is not None
        self.addCleanup(host.stdout.close)
        self.addCleanup(host.wait)
        self.addCleanup(host.terminate)
        return host.stdout.readline().rpartition(":")[2].strip()

    def describe(self, root: bytes, key: "bytes | None", cert: "bytes | None") -> int:
        credentials = grpc.ssl_channel_credentials(root, key, cert)
        options = [("grpc.ssl_target_name_override", NAME)]
        return self.call(grpc.secure_channel(f"127.0.0.1:{self.port}", credentials, options))

    def call(self, channel: grpc.Channel) -> int:
        describe = channel.unary_unary(
            f"/{SERVICE}/Describe",
            request_serializer=pb.DescribeRequest.SerializeToString,
            response_deserializer=pb.DescribeReply.FromString,
        )
        with channel:
            reply: pb.DescribeReply = describe(pb.DescribeRequest(), timeout=HANG_S)
        return reply.protocol_version
