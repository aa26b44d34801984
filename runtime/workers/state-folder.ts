// Where this user's programs keep what outlives them: dumps and pairings. Every thread finds the
// same place, since a worker has its process's environment.

import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

/** $XDG_STATE_HOME, or its default; a relative one is void, as its specification has it. */
export function stateFolder(env: Readonly<Record<string, string | undefined>>): string {
  const state = env["XDG_STATE_HOME"] ?? "";
  return isAbsolute(state) ? state : join(homedir(), ".local", "state");
}
