"""Fingerprints are those of the robot's own code: firmware-tests/python-host.test.ts holds the same
vectors against it."""

import json
import unittest
from pathlib import Path

from holdfast_host.schema import TOOL_SPACE, joint_schema, tool_schema

VECTORS = json.loads((Path(__file__).parent / "vectors.json").read_text(encoding="utf-8"))


class SchemaTest(unittest.TestCase):
    def test_every_vector_has_its_fingerprint(self) -> None:
        for vector in VECTORS:
            space, joints, frame = vector["space"], vector["joints"], vector["frame"]
            is_tool = space == TOOL_SPACE
            schema = tool_schema(frame, joints) if is_tool else joint_schema(space, joints)
            with self.subTest(space=space, joints=joints):
                self.assertEqual(schema.fingerprint, vector["fingerprint"])
