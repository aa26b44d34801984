// HostHealth: the standard `grpc.health.v1`, which an orchestrator asks before it knows anything
// of ours. Check answers once; Watch tells the status at once and again as it changes, until its
// client leaves or the host does. A host serves as long as it listens, and says so as it closes. On
// other addresses than this machine's own only who is paired may ask. Answers of two bytes need no
// schema.

import { status } from "@grpc/grpc-js";
import type {
  MethodDefinition,
  sendUnaryData,
  ServerUnaryCall,
  ServerWritableStream,
} from "@grpc/grpc-js";
import { POLICY_SERVICE } from "./grpc-service.ts";
import { HEALTH_WATCHER_COUNT_MAX } from "./limits.ts";

/** HealthCheckResponse: field 1, a ServingStatus. */
const statusBytes = (servingStatus: number): Buffer => Buffer.of(0x08, servingStatus);
const SERVING = statusBytes(1);
const NOT_SERVING = statusBytes(2);
const SERVICE_UNKNOWN = statusBytes(3);

const asBytes = (bytes: Buffer): Buffer => bytes;

function method(name: string, isStream: boolean): MethodDefinition<Buffer, Buffer> {
  return {
    path: `/grpc.health.v1.Health/${name}`,
    requestStream: false,
    responseStream: isStream,
    requestSerialize: asBytes,
    requestDeserialize: asBytes,
    responseSerialize: asBytes,
    responseDeserialize: asBytes,
  };
}

export const healthService = {
  check: method("Check", false),
  watch: method("Watch", true),
} as const;

type Watch = ServerWritableStream<Buffer, Buffer>;
type Check = ServerUnaryCall<Buffer, Buffer>;

const NOT_PAIRED = { code: status.UNAUTHENTICATED, details: "not paired with this host" };

export class HostHealth {
  readonly #watches = new Set<Watch>();
  readonly #isAdmitted: (call: Check | Watch) => boolean;
  #isClosing = false;

  /** What `healthService` is served with. */
  readonly handlers = {
    check: (call: Check, answer: sendUnaryData<Buffer>): void => {
      if (!this.#isAdmitted(call)) answer(NOT_PAIRED);
      else if (isServed(call.request)) answer(null, this.#status);
      else answer({ code: status.NOT_FOUND, details: "no such service here" });
    },
    watch: (watch: Watch): void => this.#watch(watch),
  };

  constructor(isAdmitted: (call: Check | Watch) => boolean) {
    this.#isAdmitted = isAdmitted;
  }

  get watcherCount(): number {
    return this.#watches.size;
  }

  /** The host goes: tells all who watch, and ends their streams. */
  close(): void {
    this.#isClosing = true;
    for (const watch of this.#watches) {
      if (isServed(watch.request)) watch.write(NOT_SERVING);
      watch.end();
    }
    this.#watches.clear();
  }

  /** Ends the watches of those who are not admitted any more. */
  recheck(): void {
    for (const watch of this.#watches)
      if (!this.#isAdmitted(watch)) watch.emit("error", NOT_PAIRED);
  }

  get #status(): Buffer {
    return this.#isClosing ? NOT_SERVING : SERVING;
  }

  #watch(watch: Watch): void {
    watch.on("error", () => this.#watches.delete(watch));
    if (!this.#isAdmitted(watch)) {
      watch.emit("error", NOT_PAIRED);
      return;
    }
    if (this.#watches.size >= HEALTH_WATCHER_COUNT_MAX) {
      const details = `${HEALTH_WATCHER_COUNT_MAX} watch this host already`;
      watch.emit("error", { code: status.RESOURCE_EXHAUSTED, details });
      return;
    }
    watch.on("cancelled", () => this.#watches.delete(watch));
    watch.on("close", () => this.#watches.delete(watch));
    watch.write(isServed(watch.request) ? this.#status : SERVICE_UNKNOWN);
    if (this.#isClosing) watch.end();
    else this.#watches.add(watch);
  }
}

/** Whether a HealthCheckRequest is of the server as such, or of the service that it has. */
function isServed(request: Buffer): boolean {
  return request.length === 0 || request.equals(ASKED);
}

/** Field 1, a text of fewer than 128 bytes. */
const ASKED = Buffer.concat([Buffer.of(0x0a, POLICY_SERVICE.length), Buffer.from(POLICY_SERVICE)]);
