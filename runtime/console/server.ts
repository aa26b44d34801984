// The console page: one page on the loopback interface that shows a run and can stop, reset and
// start it. Nobody may do that from elsewhere: a request must name this very address (a name that
// was rebound to it is refused) and come from this page. A stop asks for no more; a reset and a
// start must carry the token that only the owner's terminal shows: the server gives it to nobody.
//
// The token is made per run, travels in a header only, and is compared in constant time. A server
// that cannot be opened is no error: a run goes on without it.

import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { assert } from "../contracts/assert.ts";
import type { CueAnswer, RunHandle } from "../cli/run-handle.ts";
import pageFile from "./page.html" with { type: "text" };

/** How many ports are tried before there is no page. */
export const PORT_TRY_COUNT = 21;

/** In a header, so that no form or link of another page can send it. */
export const TOKEN_HEADER = "x-holdfast-token";

const ADDRESS = "127.0.0.1";
const PORT_MAX = 65_535;
const TOKEN_SIZE_BYTES = 24; // 192 bits
const NONCE_SIZE_BYTES = 16;
const BODY_SIZE_BYTES_MAX = 1_024; // cues have none
const IDLE_S_MAX = 10;
/** Requests at once: a few pages. More than these are refused, but for a stop. */
const REQUEST_COUNT_MAX = 32;

const cues = ["stop", "reset", "start"] as const;
type CueName = (typeof cues)[number];

// The type of this import says what a bundler would make of it; the attribute makes it text.
const page: unknown = pageFile;

const headers = {
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
} as const;

const closing = { connection: "close" } as const;

export class ConsoleServer {
  readonly url: string;
  /**
   * The same with the token behind it. Only for the owner's eyes. A browser keeps a fragment to
   * itself: it is in no request and in no log.
   */
  readonly ownerUrl: string;
  readonly #server: Bun.Server<undefined>;

  private constructor(server: Bun.Server<undefined>, token: string) {
    this.#server = server;
    this.url = `http://${ADDRESS}:${server.port}/`;
    this.ownerUrl = `${this.url}#${token}`;
  }

  /** Serves on `port` or one of the next; undefined when none of them is free. Port 0 is any. */
  static open(handle: RunHandle, port: number): ConsoleServer | undefined {
    const portMax = Math.min(PORT_MAX, port + PORT_TRY_COUNT - 1);
    for (let candidate = port; candidate <= portMax; candidate += 1) {
      const routes = new ConsoleRoutes(handle);
      const server = listen(candidate, routes);
      if (server !== undefined) return new ConsoleServer(server, routes.token);
    }
    return undefined;
  }

  close(): void {
    // Resolves once the port is free; nobody waits for that.
    this.#server.stop(true).catch(() => undefined);
  }
}

function listen(port: number, routes: ConsoleRoutes): Bun.Server<undefined> | undefined {
  try {
    return Bun.serve({
      hostname: ADDRESS,
      port,
      development: false,
      // Without development Bun shares ports by default: two runs would answer each other's pages.
      reusePort: false,
      idleTimeout: IDLE_S_MAX,
      maxRequestBodySize: BODY_SIZE_BYTES_MAX,
      fetch: (request, server) =>
        routes.answer(request, server.port ?? 0, server.pendingRequests > REQUEST_COUNT_MAX),
      error: () => refusal(500, "This request failed; the run goes on"),
    });
  } catch (cause) {
    if (!(cause instanceof Error)) throw cause;
    return undefined; // taken, or not ours to take
  }
}

/** The answers of the page's server. Exported for the table of its tests. */
export class ConsoleRoutes {
  readonly #handle: RunHandle;
  readonly token = randomBytes(TOKEN_SIZE_BYTES).toString("base64url");

  constructor(handle: RunHandle) {
    this.#handle = handle;
  }

  async answer(request: Request, port: number, isBusy: boolean): Promise<Response> {
    const hosts = [`${ADDRESS}:${port}`, `localhost:${port}`];
    const host = request.headers.get("host") ?? "";
    if (!hosts.includes(host)) return refusal(403, `Host must be ${hosts.join(" or ")}`);
    const path = new URL(request.url).pathname;
    const cue = cues.find((name) => path === `/${name}`);
    if (isBusy && cue !== "stop") {
      return refusal(503, `More than ${REQUEST_COUNT_MAX} requests at once`, closing);
    }
    if (cue !== undefined) return this.#cue(request, cue, host);
    if (request.method !== "GET") return refusal(405, "Only GET here", { allow: "GET" });
    if (path === "/") return this.#page();
    if (isFromElsewhere(request)) return refusal(403, "Only this page may ask");
    if (path === "/status.json") return json(200, this.#handle.status());
    return path === "/frame.jpg" ? this.#frame() : refusal(404, "Nothing here");
  }

  #page(): Response {
    assert(typeof page === "string", "the page is imported as text");
    const nonce = randomBytes(NONCE_SIZE_BYTES).toString("base64");
    const body = page.replaceAll("{{nonce}}", nonce);
    const policy = [
      "default-src 'none'",
      `script-src 'nonce-${nonce}'`,
      `style-src 'nonce-${nonce}'`,
      "img-src blob: data:",
      "connect-src 'self'",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ].join("; ");
    return new Response(body, {
      headers: {
        ...headers,
        "content-type": "text/html; charset=utf-8",
        "content-security-policy": policy,
      },
    });
  }

  async #frame(): Promise<Response> {
    const picture = await this.#handle.frame();
    if (picture === undefined) return new Response(null, { status: 204, headers });
    return new Response(Buffer.from(picture), {
      headers: { ...headers, "content-type": "image/jpeg" },
    });
  }

  #cue(request: Request, cue: CueName, host: string): Response {
    if (request.method !== "POST") return refusal(405, "Only POST here", { allow: "POST" });
    const origin = request.headers.get("origin");
    // A stop may come from a tool that sends no Origin, and from anybody on this machine; whatever
    // starts motion may not.
    const mayLackOrigin = cue === "stop" && origin === null;
    if (!mayLackOrigin && origin !== `http://${host}`) {
      return refusal(403, `Origin must be http://${host}`);
    }
    if (isFromElsewhere(request)) return refusal(403, "Only this page may ask");
    if (cue !== "stop" && !this.#isToken(request.headers.get(TOKEN_HEADER) ?? "")) {
      return refusal(403, `${cue} needs the whole address that the run's terminal shows`);
    }
    const answer: CueAnswer = this.#handle[cue]();
    return json(answer.accepted ? 200 : 409, answer);
  }

  /** Compares digests, so that neither length nor content shows in the time it takes. */
  #isToken(text: string): boolean {
    return timingSafeEqual(digest(text), digest(this.token));
  }
}

/** Browsers say where a request comes from; a tool says nothing. */
function isFromElsewhere(request: Request): boolean {
  return !["same-origin", "none"].includes(request.headers.get("sec-fetch-site") ?? "none");
}

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();

function json(status: number, value: object): Response {
  return Response.json(value, { status, headers });
}

function refusal(status: number, error: string, more: Record<string, string> = {}): Response {
  return Response.json({ error }, { status, headers: { ...headers, ...more } });
}
