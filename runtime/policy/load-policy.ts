// Loads a policy by name, or from a file of a user's own: a .ts or .js module that exports
// `createPolicy(context)`. A file that is missing, does not load, exports something else or builds
// something that is no policy is refused with its path and what was expected.

import { isAbsolute, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Policy } from "../contracts/policy.ts";
import type { PolicyContext } from "./context.ts";
import { boundedText, errorText } from "./error-text.ts";
import { PolicyError } from "./policy-error.ts";
import { isPolicyPath } from "./policy-kind.ts";
import { createPolicy } from "./registry.ts";

/** A path is taken from the current directory. Throws PolicyError. */
export async function loadPolicy(nameOrPath: string, context: PolicyContext): Promise<Policy> {
  if (!isPolicyPath(nameOrPath)) return createPolicy(nameOrPath, context);
  const path = absolute(nameOrPath);
  const create = await importPolicy(nameOrPath);
  const policy = await attempt(path, "createPolicy not to throw", () => create(context));
  const parts = "a policy whose parts can be read";
  const missing = await attempt(path, parts, () => missingPart(policy));
  if (missing !== undefined) throw refusal(path, `a policy with ${missing}`, kindOf(policy));
  return policy as Policy;
}

/** Imports a module and gives its `createPolicy`. Throws PolicyError. */
export async function importPolicy(named: string): Promise<(context: PolicyContext) => unknown> {
  const path = absolute(named);
  const module = await attempt(path, "a module that loads", () => importModule(path));
  const create = module["createPolicy"];
  if (typeof create === "function") return create as (context: PolicyContext) => unknown;
  const found = boundedText(Object.keys(module).join(", "));
  throw refusal(path, "an export createPolicy(context)", found === "" ? "no exports" : found);
}

const absolute = (path: string): string => (isAbsolute(path) ? path : resolve(path));

async function importModule(path: string): Promise<Record<string, unknown>> {
  return (await import(pathToFileURL(path).href)) as Record<string, unknown>;
}

/** Runs a user's code; whatever it throws becomes a refusal. */
async function attempt<T>(path: string, expected: string, run: () => T | Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw refusal(path, expected, errorText(error), error);
  }
}

/** The first thing a value lacks of a policy; undefined when it has all. */
function missingPart(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null) return "name, schema, reset and act";
  const part = (key: string): unknown => (value as Record<string, unknown>)[key];
  if (typeof part("name") !== "string") return "a name";
  if (typeof part("selectsMode") !== "boolean") return "selectsMode, true or false";
  if (typeof part("reset") !== "function") return "reset(epoch, allocator)";
  if (typeof part("act") !== "function") return "act(state, nowNs)";
  const isFlag = ["boolean", "undefined"].includes(typeof part("acceptsJpeg"));
  if (!isFlag) return "acceptsJpeg, true or false, or without it";
  const schema = part("schema");
  if (typeof schema !== "object" || schema === null) return "a schema";
  const { space, columns } = schema as { space?: unknown; columns?: unknown };
  if (typeof space !== "string") return "a schema with a space";
  return Array.isArray(columns) ? undefined : "a schema with columns";
}

function kindOf(value: unknown): string {
  if (typeof value === "function") return "a function";
  if (typeof value !== "object" || value === null) return boundedText(String(value));
  const keys = Object.keys(value).join(", ");
  return keys === "" ? "an object without any" : boundedText(`an object with ${keys}`);
}

function refusal(path: string, expected: string, found: string, cause?: unknown): PolicyError {
  const action = `Cannot load policy "${path}"`;
  return new PolicyError("bad_module", action, { place: path, expected, found, cause });
}
