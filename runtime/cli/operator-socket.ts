// The operator socket of a run: a Unix socket that only its user can reach, PID.sock in the runtime
// folder. It is made under a hidden name, closed to others, and only then given its name, so that
// nobody reaches it in between. A request too long or a silent client ends its own connection.

import { chmodSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Socket, UnixSocketListener } from "bun";
import {
  answerLine,
  isStopRequest,
  refusalLine,
  REQUEST_SIZE_BYTES_MAX,
} from "./operator-protocol.ts";
import type { RunHandle } from "./run-handle.ts";
import {
  codeOf,
  folderChoices,
  prepareFolder,
  removeSocket,
  RuntimeFolderError,
  socketName,
} from "./runtime-folder.ts";
import type { FolderUser } from "./runtime-folder.ts";

/** More at once are nobody's terminals: what they ask is refused, but for a stop. */
const CONNECTION_COUNT_MAX = 16;
/** A client that says nothing for this long is let go. */
const SILENCE_S_MAX = 10;
const SOCKET_MODE = 0o600;
const NEWLINE = 10;

const BUSY = refusalLine("busy", `More than ${CONNECTION_COUNT_MAX} clients at once`);

type Connection = { received: Uint8Array; readonly isExtra: boolean };

export class OperatorSocket {
  readonly path: string;
  readonly #listener: UnixSocketListener<Connection>;

  private constructor(path: string, listener: UnixSocketListener<Connection>) {
    this.path = path;
    this.#listener = listener;
  }

  /** Opens the socket in the first folder that may be used. Throws RuntimeFolderError. */
  static open(handle: RunHandle, pid: number, user: FolderUser): OperatorSocket {
    const troubles: RuntimeFolderError[] = [];
    for (const folder of folderChoices(user)) {
      try {
        prepareFolder(folder, user.uid);
        return OperatorSocket.#openIn(folder, handle, pid);
      } catch (cause) {
        if (!(cause instanceof RuntimeFolderError)) throw cause;
        troubles.push(cause);
      }
    }
    throw troubles[0]!;
  }

  static #openIn(folder: string, handle: RunHandle, pid: number): OperatorSocket {
    const hidden = join(folder, `.${pid}.new`);
    const path = join(folder, socketName(pid));
    let listener: UnixSocketListener<Connection> | undefined;
    try {
      rmSync(hidden, { force: true });
      listener = Bun.listen<Connection>({ unix: hidden, socket: handlers(handle) });
      chmodSync(hidden, SOCKET_MODE);
      renameSync(hidden, path);
      return new OperatorSocket(path, listener);
    } catch (cause) {
      listener?.stop(true);
      throw new RuntimeFolderError(path, "a place for a socket", codeOf(cause), cause);
    }
  }

  close(): void {
    this.#listener.stop(true);
    removeSocket(this.path);
  }
}

function handlers(handle: RunHandle) {
  let connectionCount = 0;
  return {
    open(socket: Socket<Connection>) {
      connectionCount += 1;
      const isExtra = connectionCount > CONNECTION_COUNT_MAX;
      socket.data = { received: new Uint8Array(0), isExtra };
      socket.timeout(SILENCE_S_MAX);
    },
    data(socket: Socket<Connection>, bytes: Uint8Array) {
      socket.timeout(SILENCE_S_MAX);
      let received = Buffer.concat([socket.data.received, bytes]);
      let end = received.indexOf(NEWLINE);
      while (end >= 0 && end <= REQUEST_SIZE_BYTES_MAX) {
        const request = received.toString("utf8", 0, end);
        const isRefused = socket.data.isExtra && !isStopRequest(request);
        if (!say(socket, isRefused ? BUSY : answerLine(request, handle))) return;
        if (socket.data.isExtra) {
          socket.end();
          return;
        }
        received = received.subarray(end + 1);
        end = received.indexOf(NEWLINE);
      }
      socket.data.received = received;
      if (received.length > REQUEST_SIZE_BYTES_MAX) {
        const message = `Cannot read the request: longer than ${REQUEST_SIZE_BYTES_MAX} bytes`;
        say(socket, refusalLine("too_long", message));
        socket.end();
      }
    },
    timeout(socket: Socket<Connection>) {
      socket.end();
    },
    close() {
      connectionCount -= 1;
    },
  };
}

/** False when the client does not read its answers: it is let go. */
function say(socket: Socket<Connection>, line: string): boolean {
  const bytes = Buffer.from(line);
  if (socket.write(bytes) === bytes.length) return true;
  socket.terminate();
  return false;
}
