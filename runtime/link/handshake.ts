// The handshake: what each side says of itself, and the first thing that does not fit. A mismatch
// names the field of the message, what was expected and what was found; nothing is guessed.

import { create } from "@bufbuild/protobuf";
import { DT_NS_MAX, HORIZON_MAX, schemaFingerprint, WIDTH_MAX } from "../contracts/action.ts";
import type { ActionSchema, ActionSpace } from "../contracts/action.ts";
import { OBS_TRANSFORM_SHA256, OBS_TRANSFORM_VERSION } from "../contracts/obs-transform.ts";
import type { PictureEncoding } from "../contracts/profile.ts";
import { RefusalSchema } from "./generated/policy_pb.js";
import type { Field, Hello, PolicyFacts, Refusal, Welcome } from "./generated/policy_pb.js";
import { PROTOCOL_VERSION } from "./limits.ts";

type Check = readonly [field: string, expected: string, found: string, remedy: string];

const SAME_VERSION = "install the same version of Holdfast on both machines";
const spaces: readonly ActionSpace[] = ["joint_pos", "joint_vel", "joint_delta", "ee_pose_delta"];
/** What a field of the hello says of a picture that comes as JPEG. */
const JPEG_DTYPE: PictureEncoding = "jpeg";
const RAW_DTYPE: PictureEncoding = "rgb8";
const OTHER_PICTURES =
  "in the robot's profile set policy.picture_encoding to rgb8, " +
  "or let the policy say that it accepts JPEG";
const OTHER_TASK = "run a task that brings this field, or another policy";
const OTHER_MEANING = "use the same profile on both machines, or another policy";
const OTHER_POLICY = "start the host as it was, or start this run anew";
const OTHER_BYTES = `its file or version is another one: ${OTHER_POLICY}`;
const DIGEST_DIGITS = 12;
/** What a required field says of itself beside its name. How a picture crosses is judged apart. */
const fieldParts: Readonly<Record<string, (field: Field) => string>> = {
  dtype: ({ dtype }) => (dtype === JPEG_DTYPE ? RAW_DTYPE : dtype),
  shape: ({ shape }) => shape.join(" x "),
  unit: ({ unit }) => unit,
  frame: ({ frame }) => frame,
};
const TOOL_COLUMNS = ["tx", "ty", "tz", "rx", "ry", "rz"];

export const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
const list = (texts: readonly string[]): string => (texts.length === 0 ? "none" : texts.join(", "));

/**
 * The edge's judgement of a welcome. Undefined when everything fits. A run that began with one
 * policy goes on with no other: `begun` are the facts of the first welcome.
 */
export function refusalOfWelcome(
  hello: Hello,
  welcome: Welcome,
  begun?: PolicyFacts,
): Refusal | undefined {
  const { policy } = welcome;
  if (policy === undefined) return refusal(["policy", "the facts of a policy", "none", ""]);
  const schema = schemaOf(policy);
  if (schema === undefined) {
    const found = policy.actionSchema?.space ?? "none";
    return refusal(["policy.action_schema.space", list(spaces), found, ""]);
  }
  const fields = list(hello.fields.map((field) => field.name));
  const missing = missingField(hello, policy);
  const misfit = misfitOf(hello, policy);
  const jpeg = refusedPicture(hello, policy);
  const fingerprint = String(schemaFingerprint(schema));
  const wanted = hex(hello.manifestSha256);
  return first([
    [
      "protocol_version",
      String(hello.protocolVersion),
      String(welcome.protocolVersion),
      SAME_VERSION,
    ],
    ["link_session", String(hello.linkSession), String(welcome.linkSession), ""],
    [
      "policy.action_schema_fingerprint",
      fingerprint,
      String(policy.actionSchemaFingerprint),
      SAME_VERSION,
    ],
    ...columnChecks(hello, schema),
    ["policy.horizon", `1 to ${HORIZON_MAX}`, inRange(policy.horizon, 1, HORIZON_MAX), ""],
    ["policy.dt_ns", `1 to ${DT_NS_MAX}`, inRange(Number(policy.dtNs), 1, DT_NS_MAX), ""],
    ["policy.required_fields", fields, missing ?? fields, OTHER_TASK],
    [`policy.required_fields.${misfit.part}`, misfit.sent, misfit.wanted, OTHER_MEANING],
    [
      "policy.accepts_jpeg",
      jpeg === undefined ? "" : `true, as ${jpeg.name} goes as JPEG`,
      jpeg === undefined ? "" : "false",
      OTHER_PICTURES,
    ],
    ...transformChecks(policy.obsTransformVersion, hex(policy.obsTransformSha256)),
    [
      "policy.manifest_sha256",
      wanted,
      wanted === "" ? "" : hex(policy.manifestSha256),
      "start the host with the artifact that the robot's deployment names",
    ],
    ...(begun === undefined ? [] : sameChecks(begun, policy)),
  ]);
}

function sameChecks(begun: PolicyFacts, policy: PolicyFacts): Check[] {
  const same = (field: string, of: (facts: PolicyFacts) => string): Check => {
    return [`policy.${field}`, of(begun), of(policy), OTHER_POLICY];
  };
  return [
    same("name", (facts) => facts.name),
    same("action_schema_fingerprint", (facts) => String(facts.actionSchemaFingerprint)),
    same("horizon", (facts) => String(facts.horizon)),
    same("dt_ns", (facts) => String(facts.dtNs)),
    ["policy.manifest_sha256", ...apart(begun.manifestSha256, policy.manifestSha256), OTHER_BYTES],
  ];
}

/** Two digests as a person tells them apart: by their first digits, where those differ. */
function apart(...digests: readonly [Uint8Array, Uint8Array]): [string, string] {
  const [expected, found] = digests.map(hex) as [string, string];
  const short = [expected, found].map((text) => text.slice(0, DIGEST_DIGITS)) as [string, string];
  return short[0] === short[1] ? [expected, found] : short;
}

/** The host's judgement of a hello, for the policy it runs. */
export function refusalOfHello(hello: Hello, facts: PolicyFacts): Refusal | undefined {
  const schema = schemaOf(facts);
  const fields = list(hello.fields.map((field) => field.name));
  const missing = missingField(hello, facts);
  const misfit = misfitOf(hello, facts);
  const jpeg = refusedPicture(hello, facts);
  const wanted = hex(hello.manifestSha256);
  return first([
    ["protocol_version", String(PROTOCOL_VERSION), String(hello.protocolVersion), SAME_VERSION],
    ...transformChecks(hello.obsTransformVersion, hex(hello.obsTransformSha256)),
    ["joint_names", "at least one", hello.jointNames.length > 0 ? "at least one" : "none", ""],
    ...(schema === undefined ? [] : columnChecks(hello, schema)),
    ["fields", missing ?? "", missing === undefined ? "" : fields, OTHER_TASK],
    [`fields.${misfit.part}`, misfit.wanted, misfit.sent, OTHER_MEANING],
    [
      `fields.${jpeg?.name}.dtype`,
      jpeg === undefined ? "" : RAW_DTYPE,
      jpeg === undefined ? "" : JPEG_DTYPE,
      OTHER_PICTURES,
    ],
    [
      "manifest_sha256",
      wanted,
      wanted === "" ? "" : hex(facts.manifestSha256),
      "start the host with the artifact that the robot's deployment names",
    ],
  ]);
}

/** What the policy needs and the robot does not send at all. */
function missingField({ fields }: Hello, { requiredFields }: PolicyFacts): string | undefined {
  return requiredFields.find(({ name }) => !fields.some((sent) => sent.name === name))?.name;
}

type Misfit = { readonly part: string; readonly wanted: string; readonly sent: string };
const FITS: Misfit = { part: "", wanted: "", sent: "" };

/** The first part of a field that the robot sends otherwise than the policy needs it. */
function misfitOf({ fields }: Hello, { requiredFields }: PolicyFacts): Misfit {
  for (const required of requiredFields) {
    const field = fields.find(({ name }) => name === required.name);
    if (field === undefined) continue;
    for (const [part, of] of Object.entries(fieldParts)) {
      const [wanted, sent] = [of(required), of(field)];
      if (wanted !== "" && wanted !== sent)
        return { part: `${required.name}.${part}`, wanted, sent };
    }
  }
  return FITS;
}

/** A picture that comes as JPEG, to a policy that does not accept it. */
function refusedPicture(hello: Hello, facts: PolicyFacts): Field | undefined {
  return facts.acceptsJpeg ? undefined : hello.fields.find(({ dtype }) => dtype === JPEG_DTYPE);
}

/** The action schema of a policy's facts, or undefined when it is none of ours. */
export function schemaOf(facts: PolicyFacts): ActionSchema | undefined {
  const told = facts.actionSchema;
  const space = spaces.find((known) => known === told?.space);
  if (told === undefined || space === undefined) return undefined;
  const frame = (["joint", "base", "tool"] as const).find((known) => known === told.frame);
  if (frame === undefined) return undefined;
  return {
    space,
    representation: told.representation,
    translationUnit: told.translationUnit === "m" ? "m" : undefined,
    rotationUnit: told.rotationUnit === "rotvec_rad" ? "rotvec_rad" : undefined,
    frame,
    columns: [...told.columns],
  };
}

/** Names of joints in the columns of a chunk must be the robot's, in its order. */
function columnChecks(hello: Hello, schema: ActionSchema): Check[] {
  const isTool = schema.space === "ee_pose_delta";
  const { columns } = schema;
  const found = list(columns);
  if (columns.length > WIDTH_MAX) {
    return [["policy.action_schema.columns", `at most ${WIDTH_MAX}`, String(columns.length), ""]];
  }
  const remedy = "run the policy with the robot that it was made for";
  if (!isTool) {
    return [["policy.action_schema.columns", list(hello.jointNames), found, remedy]];
  }
  const joints = columns.slice(TOOL_COLUMNS.length);
  const expected = [...TOOL_COLUMNS, ...hello.jointNames.filter((name) => joints.includes(name))];
  return [["policy.action_schema.columns", list(expected), found, remedy]];
}

const transformChecks = (version: number, sha256: string): Check[] => [
  ["obs_transform_version", String(OBS_TRANSFORM_VERSION), String(version), SAME_VERSION],
  ["obs_transform_sha256", OBS_TRANSFORM_SHA256, sha256, SAME_VERSION],
];

function inRange(value: number, min: number, max: number): string {
  return Number.isInteger(value) && value >= min && value <= max ? `${min} to ${max}` : `${value}`;
}

function first(checks: readonly Check[]): Refusal | undefined {
  const wrong = checks.find(([, expected, found]) => expected !== found);
  return wrong === undefined ? undefined : refusal(wrong);
}

function refusal([field, expected, found, remedy]: Check): Refusal {
  return create(RefusalSchema, { field, expected, found, remedy });
}

/** One line for a person. */
export function refusalText({ field, expected, found, remedy }: Refusal): string {
  const text = `${field}: expected ${expected || "none"}, found ${found || "none"}`;
  return remedy === "" ? text : `${text}: ${remedy}`;
}
