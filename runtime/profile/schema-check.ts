// Checks a tree against the JSON Schema of its kind and puts ajv's findings into our words, with
// the place of the key or value. The schemas are the files in profiles/schema, which an editor can
// use too. A schema is compiled when it is first needed.

import Ajv2020 from "ajv/dist/2020";
import type { ErrorObject, ValidateFunction } from "ajv/dist/2020";
import deploymentSchema from "../../profiles/schema/deployment.schema.json" with { type: "json" };
import policySchema from "../../profiles/schema/policy.schema.json" with { type: "json" };
import robotSchema from "../../profiles/schema/robot.schema.json" with { type: "json" };
import taskSchema from "../../profiles/schema/task.schema.json" with { type: "json" };
import { nearest, oneOf, show } from "./problem.ts";
import { escapePointer } from "./tree.ts";
import type { Tree } from "./tree.ts";

export const profileKinds = ["robot", "task", "deployment", "policy"] as const;
export type ProfileKind = (typeof profileKinds)[number];

export const schemas = {
  robot: robotSchema,
  task: taskSchema,
  deployment: deploymentSchema,
  policy: policySchema,
};
const compiled = new Map<ProfileKind, ValidateFunction>();

/** Notes in the tree whatever the schema of `kind` forbids. */
export function checkSchema(tree: Tree, kind: ProfileKind): void {
  const validate = validatorOf(kind);
  if (validate(tree.value)) return;
  const misspelt = new Set<string>();
  for (const error of validate.errors ?? []) {
    if (error.keyword === "additionalProperties") misspelt.add(reportUnknownKey(tree, error));
  }
  for (const error of validate.errors ?? []) reportError(tree, error, misspelt);
}

function validatorOf(kind: ProfileKind): ValidateFunction {
  const known = compiled.get(kind);
  if (known !== undefined) return known;
  // The schemas are ours and a test judges them: checking them here would double the start-up cost.
  const options = { allErrors: true, verbose: true, validateSchema: false };
  const validate = new Ajv2020(options).compile(schemas[kind]);
  compiled.set(kind, validate);
  return validate;
}

/** Notes a key that the schema has not, and returns the pointer of the key that was meant. */
function reportUnknownKey(tree: Tree, error: ErrorObject): string {
  const key = String((error.params as Record<string, unknown>)["additionalProperty"]);
  const known = Object.keys((error.parentSchema?.["properties"] as object | undefined) ?? {});
  const meant = nearest(key, known);
  const hint = meant === undefined ? "" : ` (did you mean "${meant}"?)`;
  const pointer = `${error.instancePath}/${escapePointer(key)}`;
  tree.report(pointer, `a known key${hint}`, `the unknown key ${show(key)}`, "key");
  return `${error.instancePath}/${escapePointer(meant ?? "")}`;
}

function reportError(tree: Tree, error: ErrorObject, misspelt: ReadonlySet<string>): void {
  const pointer = error.instancePath;
  const params = error.params as Record<string, unknown>;
  if (error.keyword === "additionalProperties") return;
  if (error.keyword !== "required") {
    tree.report(pointer, expectation(error, params));
    return;
  }
  const missing = `${pointer}/${escapePointer(String(params["missingProperty"]))}`;
  // A misspelt key is one mistake, not a missing key and an unknown one.
  if (!misspelt.has(missing)) tree.report(missing, "this key", "nothing");
}

const typeNames: Readonly<Record<string, string>> = {
  number: "a number",
  integer: "a whole number",
  string: "text",
  array: "a list",
  object: "a mapping",
  boolean: "true or false",
};

function expectation(error: ErrorObject, params: Record<string, unknown>): string {
  const limit = String(params["limit"]);
  switch (error.keyword) {
    case "type":
      return typeNames[String(params["type"])] ?? String(params["type"]);
    case "const":
      return show(params["allowedValue"]);
    case "enum":
      return oneOf(params["allowedValues"] as string[], textOf(error.data));
    case "pattern":
      return "a name of lower-case letters, digits, - and _, a letter first";
    case "minimum":
      return `at least ${limit}`;
    case "maximum":
      return `at most ${limit}`;
    case "exclusiveMinimum":
      return `a number above ${limit}`;
    case "minItems":
      return entryCount("at least", limit, error);
    case "maxItems":
      return entryCount("at most", limit, error);
    case "minLength":
      return `at least ${limit} characters`;
    case "maxLength":
      return `at most ${limit} characters`;
    default:
      return `what the schema asks: ${error.message ?? error.keyword}`;
  }
}

const textOf = (data: unknown): string => (typeof data === "string" ? data : "");

function entryCount(bound: string, limit: string, error: ErrorObject): string {
  const { minItems, maxItems } = error.parentSchema ?? {};
  const exact = minItems === maxItems;
  return `${exact ? "" : `${bound} `}${limit} ${limit === "1" ? "entry" : "entries"}`;
}
