// What goes over the operator socket: one JSON object a line, a request with a method and nothing
// else, an answer of one of three shapes. Pure: text in, text out. Both ends read only what they
// expect; a duplicate or an unknown key is refused by name.

import type { CueAnswer, RunHandle, RunStatus } from "./run-handle.ts";

export const operatorMethods = [
  "stop",
  "park",
  "reset",
  "start",
  "arm",
  "prooftest",
  "status",
] as const;
export type OperatorMethod = (typeof operatorMethods)[number];

/** A longer request is none of ours. */
export const REQUEST_SIZE_BYTES_MAX = 4_096;
/** A status of a hundred joints takes a tenth of this. */
export const ANSWER_SIZE_BYTES_MAX = 65_536;

export type OperatorAnswer =
  | { readonly kind: "cue"; readonly cue: CueAnswer }
  | { readonly kind: "status"; readonly status: RunStatus }
  | { readonly kind: "refused"; readonly code: string; readonly message: string };

export const requestLine = (method: OperatorMethod): string => `${JSON.stringify({ method })}\n`;

/** Does what a request asks and returns the line that answers it. */
export function answerLine(request: string, handle: RunHandle): string {
  const method = readRequest(request);
  if (typeof method !== "string") return refusalLine(method.code, method.message);
  const answer = method === "status" ? { status: handle.status() } : handle[method]();
  return `${JSON.stringify(answer)}\n`;
}

export const refusalLine = (code: string, message: string): string =>
  `${JSON.stringify({ error: { code, message } })}\n`;

/** Whether a request stops the robot, and is let through when others are refused. */
export function isStopRequest(request: string): boolean {
  const method = readRequest(request);
  return method === "stop" || method === "park";
}

type Refusal = { readonly code: string; readonly message: string };

function readRequest(text: string): OperatorMethod | Refusal {
  let request: unknown;
  try {
    request = JSON.parse(text);
  } catch (cause) {
    return { code: "bad_json", message: `Cannot read the request: ${(cause as Error).message}` };
  }
  if (!isRecord(request)) {
    const message = "Cannot read the request: expected an object, found something else";
    return { code: "bad_request", message };
  }
  const unknown = Object.keys(request).find((key) => key !== "method");
  if (unknown !== undefined) {
    const message = `Cannot read the request: unknown key ${JSON.stringify(unknown)}`;
    return { code: "unknown_key", message };
  }
  const method = operatorMethods.find((each) => each === request["method"]);
  if (method === undefined) {
    const found = JSON.stringify(request["method"]) ?? "nothing";
    const message = `Cannot do the method: expected ${operatorMethods.join(", ")}, found ${found}`;
    return { code: "unknown_method", message };
  }
  // Of two equal keys only the last survives parsing; the text still has both.
  if (text.replace(/\s/g, "") === JSON.stringify({ method })) return method;
  return { code: "bad_request", message: 'Cannot read the request: "method" is given twice' };
}

/** Reads an answer; undefined for anything that is none. */
export function readAnswer(line: string): OperatorAnswer | undefined {
  let answer: unknown;
  try {
    answer = JSON.parse(line);
  } catch (cause) {
    if (cause instanceof SyntaxError) return undefined;
    throw cause;
  }
  if (!isRecord(answer)) return undefined;
  const { accepted, text, status, error } = answer;
  if (typeof accepted === "boolean" && typeof text === "string") {
    return { kind: "cue", cue: { accepted, text } };
  }
  if (
    isRecord(error) &&
    typeof error["code"] === "string" &&
    typeof error["message"] === "string"
  ) {
    return { kind: "refused", code: error["code"], message: error["message"] };
  }
  const whole = statusOf(status);
  return whole === undefined ? undefined : { kind: "status", status: whole };
}

type FieldKind = "text" | "number" | "flag" | "texts" | "numbers";

// A run of another version may lack a field; a status that is not whole is not shown.
const statusFields: Readonly<Record<keyof RunStatus, FieldKind>> = {
  profile: "text",
  task: "text",
  policy: "text",
  policyHost: "text",
  timeModel: "text",
  mode: "text",
  reason: "text",
  tick: "number",
  epoch: "number",
  sessionS: "number",
  rateAskedHz: "number",
  rateHz: "number",
  lateTicks: "number",
  missedTicks: "number",
  wakeUsP50: "number",
  wakeUsP99: "number",
  workUsP99: "number",
  sampleAgeMsP50: "number",
  faults: "texts",
  jointNames: "texts",
  measuredRad: "numbers",
  commandRad: "numbers",
  cause: "text",
  causeS: "number",
  hint: "text",
  acts: "texts",
  warnings: "texts",
  estop: "text",
  cutTime: "text",
  taskSuccess: "flag",
  episodeCount: "number",
  isEpisodeUnderWay: "flag",
  successCount: "number",
};

const isText = (value: unknown): boolean => typeof value === "string";
// JSON has no word for a figure that is not there yet; it arrives as null.
const isNumber = (value: unknown): boolean => typeof value === "number" || value === null;

const fits: Readonly<Record<FieldKind, (value: unknown) => boolean>> = {
  text: isText,
  number: isNumber,
  flag: (value) => typeof value === "boolean",
  texts: (value) => Array.isArray(value) && value.every(isText),
  numbers: (value) => Array.isArray(value) && value.every(isNumber),
};

/** A status made of known fields only, or undefined when one is missing or of another kind. */
function statusOf(value: unknown): RunStatus | undefined {
  if (!isRecord(value)) return undefined;
  const status: Record<string, unknown> = {};
  for (const [key, kind] of Object.entries(statusFields)) {
    const field = value[key];
    if (!fits[kind](field)) return undefined;
    const isList = kind === "numbers" && Array.isArray(field);
    status[key] = isList ? field.map(figureOf) : figureOf(field);
  }
  return status as RunStatus;
}

const figureOf = (value: unknown): unknown => (value === null ? Number.NaN : value);

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
