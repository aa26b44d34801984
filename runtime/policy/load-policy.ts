// Loads a policy by name, or from a file of a user's own: a .ts or .js module that exports
// `createPolicy(context)`. A file that is missing, does not load, exports something else or builds
// something that is no policy is refused with its path and what was expected.

import { isAbsolute, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Policy } from "../contracts/policy.ts";
import type { PolicyContext } from "./context.ts";
import { boundedText, errorText } from "./error-text.ts";
import { fixedPartsOf, LoadedPolicy } from "./loaded-policy.ts";
import { PolicyError } from "./policy-error.ts";
import { isPolicyPath } from "./policy-kind.ts";
import { createPolicy } from "./registry.ts";

const READABLE = "a policy whose parts can be read";

/** A path is taken from the current directory. Throws PolicyError. */
export async function loadPolicy(nameOrPath: string, context: PolicyContext): Promise<Policy> {
  if (!isPolicyPath(nameOrPath)) return createPolicy(nameOrPath, context);
  const path = absolute(nameOrPath);
  const create = await importPolicy(nameOrPath);
  const policy = await attempt(path, "createPolicy not to throw", () => create(context));
  const parts = await attempt(path, READABLE, () => fixedPartsOf(policy));
  if (typeof parts !== "string") return new LoadedPolicy(policy as Policy, parts);
  throw refusal(
    path,
    `a policy with ${parts}`,
    await attempt(path, READABLE, () => kindOf(policy)),
  );
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
