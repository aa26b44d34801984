"""The host's judgement of a hello: the first thing that does not fit, by the name of its field."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional

from .generated import policy_pb2 as pb
from .limits import PROTOCOL_VERSION, TEXT_CHARACTERS_MAX, WIDTH_MAX
from .schema import OBS_TRANSFORM_SHA256, OBS_TRANSFORM_VERSION, TOOL_COLUMNS, TOOL_SPACE

# Field, expected, found, remedy: all is well where expected and found are equal.
Check = tuple[str, str, str, str]

# What a field of the hello says of a picture.
RAW_DTYPE = "rgb8"
JPEG_DTYPE = "jpeg"

SAME_VERSION = "install the same version of Holdfast on both machines"
OTHER_TASK = "run a task that brings this field, or another policy"
OTHER_PICTURES = (
    "in the robot's profile set policy.picture_encoding to rgb8, "
    "or let the policy say that it accepts JPEG"
)
OTHER_MEANING = "use the same profile on both machines, or another policy"
OTHER_FILE = "start the host with the policy that the robot's deployment names"
OTHER_ROBOT = "run the policy with the robot that it was made for"


def refusal_of_hello(hello: pb.Hello, facts: pb.PolicyFacts) -> Optional[pb.Refusal]:
    """None when the robot fits the policy."""
    fields = [field.name for field in hello.fields]
    required = [field.name for field in facts.required_fields]
    missing = next((name for name in required if name not in fields), None)
    joints = "at least one" if hello.joint_names else "none"
    checks: list[Check] = [
        ("protocol_version", str(PROTOCOL_VERSION), str(hello.protocol_version), SAME_VERSION),
        (
            "obs_transform_version",
            str(OBS_TRANSFORM_VERSION),
            str(hello.obs_transform_version),
            SAME_VERSION,
        ),
        (
            "obs_transform_sha256",
            OBS_TRANSFORM_SHA256.hex(),
            hello.obs_transform_sha256.hex(),
            SAME_VERSION,
        ),
        ("joint_names", "at least one", joints, ""),
        _columns(hello, facts),
        ("fields", missing or "", "" if missing is None else _list(fields), OTHER_TASK),
        _meaning(hello, facts),
        _pictures(hello, facts),
        (
            "manifest_sha256",
            hello.manifest_sha256.hex(),
            facts.manifest_sha256.hex() if hello.manifest_sha256 else "",
            OTHER_FILE,
        ),
    ]
    for field, expected, found, remedy in checks:
        if expected != found:
            return pb.Refusal(field=field, expected=expected, found=found, remedy=remedy)
    return None


def _columns(hello: pb.Hello, facts: pb.PolicyFacts) -> Check:
    """Names of joints in the columns of a chunk must be the robot's, in its order."""
    field = "policy.action_schema.columns"
    columns = list(facts.action_schema.columns)
    if len(columns) > WIDTH_MAX:
        return field, f"at most {WIDTH_MAX}", str(len(columns)), ""
    expected = list(hello.joint_names)
    if facts.action_schema.space == TOOL_SPACE:
        extra = columns[len(TOOL_COLUMNS) :]
        expected = [*TOOL_COLUMNS, *(name for name in hello.joint_names if name in extra)]
    return field, _list(expected), _list(columns), OTHER_ROBOT


def _meaning(hello: pb.Hello, facts: pb.PolicyFacts) -> Check:
    """A required field must be what the policy says of it; what it leaves empty may be anything."""
    sent_fields = {field.name: field for field in hello.fields}
    for required in facts.required_fields:
        sent = sent_fields.get(required.name)
        if sent is None:
            continue
        for (part, wanted), found in zip(_parts(required).items(), _parts(sent).values()):
            if wanted not in ("", found):
                return f"fields.{required.name}.{part}", wanted, found, OTHER_MEANING
    return "fields", "", "", ""


def _parts(field: pb.Field) -> dict[str, str]:
    """What a field says of itself beside its name. How a picture crosses is judged apart."""
    return {
        "dtype": RAW_DTYPE if field.dtype == JPEG_DTYPE else field.dtype,
        "shape": " x ".join(str(size) for size in field.shape),
        "unit": field.unit,
        "frame": field.frame,
    }


def _pictures(hello: pb.Hello, facts: pb.PolicyFacts) -> Check:
    """What a robot's pictures have lost is nothing that a policy meets unasked."""
    sent = (field.name for field in hello.fields if field.dtype == JPEG_DTYPE)
    name = None if facts.accepts_jpeg else next(sent, None)
    if name is None:
        return "fields", "", "", ""
    return f"fields.{name}.dtype", RAW_DTYPE, JPEG_DTYPE, OTHER_PICTURES


def _list(texts: Sequence[str]) -> str:
    return ", ".join(texts) or "none"


def refusal_text(refusal: pb.Refusal) -> str:
    """One line for a person."""
    expected, found = refusal.expected or "none", refusal.found or "none"
    text = f"{refusal.field}: expected {expected}, found {found}"
    return printable(f"{text}: {refusal.remedy}" if refusal.remedy else text)


def printable(text: str) -> str:
    """Text from elsewhere, short and without what could move a terminal's cursor."""
    short = text[:TEXT_CHARACTERS_MAX]
    return "".join(letter if letter.isprintable() else "?" for letter in short)
