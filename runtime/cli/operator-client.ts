// The other end of the operator socket: finds the live runs of this user and asks them. A socket
// that nobody listens on belongs to a run that died, and is removed. A run that does not answer
// in time is reported as such, never waited for.

import { lstatSync } from "node:fs";
import { join } from "node:path";
import type { Socket, SocketHandler } from "bun";
import { ANSWER_SIZE_BYTES_MAX, readAnswer, requestLine } from "./operator-protocol.ts";
import type { OperatorAnswer, OperatorMethod } from "./operator-protocol.ts";
import {
  codeOf,
  folderCandidates,
  folderTrouble,
  namesIn,
  removeSocket,
  SOCKET_NAME,
} from "./runtime-folder.ts";
import type { FolderUser } from "./runtime-folder.ts";

export type RunSocket = { readonly pid: number; readonly path: string };

export type OperatorErrorCode = "no_listener" | "no_answer" | "bad_answer";

/** A run that could not be talked to. */
export class OperatorError extends Error {
  override readonly name = "OperatorError";
  readonly code: OperatorErrorCode;
  readonly pid: number;

  constructor(code: OperatorErrorCode, pid: number, why: string, cause?: unknown) {
    super(`Cannot talk to run ${pid}: ${why}`, { cause });
    this.code = code;
    this.pid = pid;
  }
}

/** A main thread that is busy longer than this may as well be hung. */
const ANSWER_MS_MAX = 2_000;

/** Every socket of this user, live or not, in the order of pids. */
export function runSockets(user: FolderUser): RunSocket[] {
  const found = folderCandidates(user).flatMap((folder) => {
    if (folderTrouble(folder, user.uid) !== undefined) return [];
    return namesIn(folder).flatMap((name) => {
      const pid = SOCKET_NAME.exec(name)?.[1];
      const path = join(folder, name);
      return pid !== undefined && isSocket(path) ? [{ pid: Number(pid), path }] : [];
    });
  });
  return found.toSorted((left, right) => left.pid - right.pid);
}

/** Asks one run. Throws OperatorError; a socket without a run behind it is removed. */
export async function askRun(
  run: RunSocket,
  method: OperatorMethod,
  answerMsMax = ANSWER_MS_MAX,
): Promise<OperatorAnswer> {
  const line = await exchange(run, requestLine(method), answerMsMax);
  const answer = readAnswer(line);
  if (answer !== undefined) return answer;
  throw new OperatorError("bad_answer", run.pid, "it answers something else than this version");
}

async function exchange(run: RunSocket, request: string, answerMsMax: number): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const late = setTimeout(() => {
    const remedy = `cut the power by hand if it moves, or kill ${run.pid}`;
    const why = `no answer within ${answerMsMax} ms; ${remedy}`;
    reject(new OperatorError("no_answer", run.pid, why));
  }, answerMsMax);
  const decoder = new TextDecoder();
  let received = "";
  const connecting = connect(run.path, {
    open: (socket) => {
      socket.write(request);
    },
    data: (_socket, bytes) => {
      received += decoder.decode(bytes, { stream: true });
      const end = received.indexOf("\n");
      if (end >= 0) resolve(received.slice(0, end));
      else if (received.length > ANSWER_SIZE_BYTES_MAX) resolve("");
    },
    close: () => reject(new OperatorError("no_answer", run.pid, "it closed the connection")),
  });
  connecting.catch((cause: unknown) => reject(connectError(run, cause)));
  try {
    return await promise;
  } finally {
    clearTimeout(late);
    connecting.then(
      (socket) => socket.terminate(),
      () => undefined, // the rejection has been handed on
    );
  }
}

/** Async, so that a path which cannot be a socket is a rejection like any other. */
async function connect(path: string, socket: SocketHandler<undefined>): Promise<Socket<undefined>> {
  return Bun.connect({ unix: path, socket });
}

function connectError(run: RunSocket, cause: unknown): OperatorError {
  const code = codeOf(cause);
  if (code === "ECONNREFUSED") {
    removeSocket(run.path);
    return new OperatorError("no_listener", run.pid, "it is gone", cause);
  }
  return new OperatorError(code === "ENOENT" ? "no_listener" : "no_answer", run.pid, code, cause);
}

function isSocket(path: string): boolean {
  try {
    return lstatSync(path).isSocket();
  } catch {
    return false; // it went away
  }
}
