// The page's server over a real port: who may read, who may stop, who may start. The table has
// every combination that decides; a refusal must leave the run untouched.

import { afterAll, beforeEach, expect, test } from "bun:test";
import { FakeRun } from "../cli/fixture.ts";
import { ConsoleServer, PORT_TRY_COUNT, TOKEN_HEADER } from "./server.ts";

let run = new FakeRun();
const server = ConsoleServer.open(
  {
    status: () => run.status(),
    stop: () => run.stop(),
    park: () => run.park(),
    letGo: () => run.letGo(),
    parks: false,
    reset: () => run.reset(),
    start: () => run.start(),
    estop: () => run.estop(),
    arm: () => run.arm(),
    prooftest: () => run.prooftest(),
    quit: () => run.quit(),
    frame: () => run.frame(),
  },
  0,
)!;
afterAll(() => server.close());
beforeEach(() => {
  run = new FakeRun();
});

const { port } = new URL(server.url);
const own = `http://127.0.0.1:${port}`;
const token = new URL(server.ownerUrl).hash.slice(1);

const ask = (method: string, path: string, headers: Record<string, string> = {}) =>
  fetch(new URL(path, server.url), { method, headers });

type Case = readonly [string, Record<string, string>, readonly [number, number, number]];

// Statuses of stop, reset and start.
const cases: readonly Case[] = [
  ["the page itself", { origin: own, [TOKEN_HEADER]: token }, [200, 200, 200]],
  [
    "the page itself, as browsers say it",
    { origin: own, [TOKEN_HEADER]: token, "sec-fetch-site": "same-origin" },
    [200, 200, 200],
  ],
  [
    "the page by its other name",
    { host: `localhost:${port}`, origin: `http://localhost:${port}`, [TOKEN_HEADER]: token },
    [200, 200, 200],
  ],
  ["a tool with the token and no Origin", { [TOKEN_HEADER]: token }, [200, 403, 403]],
  ["a tool without anything", {}, [200, 403, 403]],
  ["an evil Origin without a token", { origin: "http://evil.example" }, [403, 403, 403]],
  ["no token", { origin: own }, [200, 403, 403]],
  ["an empty token", { origin: own, [TOKEN_HEADER]: "" }, [200, 403, 403]],
  ["a token of another run", { origin: own, [TOKEN_HEADER]: "A".repeat(32) }, [200, 403, 403]],
  ["a token cut short", { origin: own, [TOKEN_HEADER]: token.slice(1) }, [200, 403, 403]],
  ["a token and more", { origin: own, [TOKEN_HEADER]: `${token}x` }, [200, 403, 403]],
  ["an evil Origin", { origin: "http://evil.example", [TOKEN_HEADER]: token }, [403, 403, 403]],
  ["a null Origin", { origin: "null", [TOKEN_HEADER]: token }, [403, 403, 403]],
  [
    "an Origin with another port",
    { origin: "http://127.0.0.1:1", [TOKEN_HEADER]: token },
    [403, 403, 403],
  ],
  [
    "an Origin over https",
    { origin: own.replace("http", "https"), [TOKEN_HEADER]: token },
    [403, 403, 403],
  ],
  [
    "an Origin with a suffix",
    { origin: `${own}.evil.example`, [TOKEN_HEADER]: token },
    [403, 403, 403],
  ],
  [
    "an Origin that is not the Host's",
    { origin: `http://localhost:${port}`, [TOKEN_HEADER]: token },
    [403, 403, 403],
  ],
  [
    "a name that was rebound",
    { host: `evil.example:${port}`, origin: `http://evil.example:${port}`, [TOKEN_HEADER]: token },
    [403, 403, 403],
  ],
  [
    "a Host without a port",
    { host: "127.0.0.1", origin: "http://127.0.0.1", [TOKEN_HEADER]: token },
    [403, 403, 403],
  ],
  [
    "a Host with a suffix",
    { host: `127.0.0.1:${port}.evil.example`, origin: own, [TOKEN_HEADER]: token },
    [403, 403, 403],
  ],
  [
    "a request from another site",
    { origin: own, [TOKEN_HEADER]: token, "sec-fetch-site": "cross-site" },
    [403, 403, 403],
  ],
];

test.each(cases)("%s", async (_, headers, statuses) => {
  const cues = ["stop", "reset", "start"];
  const answers = await Promise.all(cues.map((cue) => ask("POST", `/${cue}`, headers)));
  const allowed = cues.filter((_cue, index) => statuses[index] === 200);
  expect({ statuses: answers.map(({ status }) => status), asked: run.asked.toSorted() }).toEqual({
    statuses: [...statuses],
    asked: allowed.toSorted(),
  });
});

test("an answer is the run's own, also when it does not take the cue", async () => {
  run.isWilling = false;
  const answer = await ask("POST", "/start", { origin: own, [TOKEN_HEADER]: token });
  expect([answer.status, await answer.json()]).toEqual([
    409,
    { accepted: false, text: "start heard" },
  ]);
});

test.each([
  ["GET", "/stop", 405],
  ["POST", "/", 405],
  ["PUT", "/status.json", 405],
  ["POST", "/status.json", 405],
  ["GET", "/nothing", 404],
  ["GET", "/stop/", 404],
  ["POST", "/quit", 405],
])("%s %s is %i and does nothing", async (method, path, status) => {
  const answer = await ask(method, path, { origin: own, [TOKEN_HEADER]: token });
  expect({ status: answer.status, asked: run.asked }).toEqual({ status, asked: [] });
});

test.each(["/", "/status.json", "/frame.jpg"])(
  "%s is not shown under a name that was rebound",
  async (path) => {
    const answer = await ask("GET", path, { host: `evil.example:${port}` });
    expect([answer.status, await answer.json()]).toEqual([
      403,
      { error: `Host must be 127.0.0.1:${port} or localhost:${port}` },
    ]);
  },
);

test.each(["/status.json", "/frame.jpg"])("%s is not for pages of other sites", async (path) => {
  expect((await ask("GET", path, { "sec-fetch-site": "cross-site" })).status).toBe(403);
  expect((await ask("GET", path, { "sec-fetch-site": "same-site" })).status).toBe(403);
});

test("status and picture are what the run has now", async () => {
  expect(await (await ask("GET", "/status.json")).json()).toEqual({
    ...run.status(),
    causeS: null, // JSON has no word for a figure that is not there
  });
  expect((await ask("GET", "/frame.jpg")).status).toBe(204);
  run.picture = Uint8Array.of(255, 216, 1);
  const answer = await ask("GET", "/frame.jpg");
  expect({
    bytes: [...new Uint8Array(await answer.arrayBuffer())],
    type: answer.headers.get("content-type"),
    cache: answer.headers.get("cache-control"),
  }).toEqual({ bytes: [255, 216, 1], type: "image/jpeg", cache: "no-store" });
});

test("a picture that fails is an answer, not the end of the server", async () => {
  run.frame = () => Promise.reject(new Error("secret detail"));
  const answer = await ask("GET", "/frame.jpg");
  expect([answer.status, await answer.json()]).toEqual([
    500,
    { error: "This request failed; the run goes on" },
  ]);
  expect((await ask("GET", "/status.json")).status).toBe(200);
});

test("every answer carries the headers that keep it where it is", async () => {
  for (const path of ["/", "/status.json", "/frame.jpg", "/nothing"]) {
    const { headers } = await ask("GET", path);
    expect({
      path,
      sniff: headers.get("x-content-type-options"),
      cache: headers.get("cache-control"),
      frame: headers.get("content-security-policy")?.includes("frame-ancestors 'none'"),
      resource: headers.get("cross-origin-resource-policy"),
      cors: headers.get("access-control-allow-origin"),
    }).toEqual({
      path,
      sniff: "nosniff",
      cache: "no-store",
      frame: true,
      resource: "same-origin",
      cors: null,
    });
  }
});

test("each page has a nonce of its own, and runs no script without it", async () => {
  const pages = await Promise.all(
    [1, 2].map(async () => {
      const answer = await fetch(server.url);
      const policy = answer.headers.get("content-security-policy") ?? "";
      return { nonce: /script-src 'nonce-([^']+)'/.exec(policy)?.[1], text: await answer.text() };
    }),
  );
  expect(pages[0]!.nonce).not.toBe(pages[1]!.nonce);
  for (const { nonce, text } of pages) {
    const tags = text.match(/<(?:script|style)[^>]*>/g);
    expect(tags).toEqual([`<style nonce="${nonce}">`, `<script nonce="${nonce}" type="module">`]);
    expect(text).not.toMatch(/\{\{|style="|\son\w+="/);
  }
});

test("the token is 192 bits, differs per run, and the server tells it to nobody", async () => {
  const other = ConsoleServer.open(run, 0)!;
  other.close();
  expect(server.ownerUrl).toBe(`${server.url}#${token}`);
  expect(other.ownerUrl).not.toEndWith(token);
  expect(Buffer.from(token, "base64url").length).toBe(24);
  for (const path of ["/", "/status.json", "/nothing"]) {
    const answer = await ask("GET", path);
    expect(JSON.stringify([...answer.headers]) + (await answer.text())).not.toContain(token);
  }
});

test("more requests at once than pages make are refused, but never a stop", async () => {
  let finish: () => void = () => undefined;
  const waiting = new Promise<undefined>((resolve) => {
    finish = () => resolve(undefined);
  });
  run.frame = () => waiting;
  const pictures = Array.from({ length: 32 }, () => ask("GET", "/frame.jpg"));
  let status = 200;
  while (status === 200) ({ status } = await ask("GET", "/status.json"));
  const stop = await ask("POST", "/stop");
  finish();
  const statuses = await Promise.all(pictures.map(async (each) => (await each).status));
  expect({ status, stop: stop.status, asked: run.asked, statuses: [...new Set(statuses)] }).toEqual(
    { status: 503, stop: 200, asked: ["stop"], statuses: [204] },
  );
  expect((await ask("GET", "/status.json")).status).toBe(200);
});

test("a body is refused before it is read whole", async () => {
  const headers = { origin: own, [TOKEN_HEADER]: token };
  const answer = await fetch(new URL("/stop", server.url), {
    method: "POST",
    headers,
    body: "x".repeat(2_000),
  });
  expect({ status: answer.status, asked: run.asked }).toEqual({ status: 413, asked: [] });
});

test("a taken port costs nothing: the next free one is used, and none at all is no failure", () => {
  const first = ConsoleServer.open(run, 18_441)!;
  const second = ConsoleServer.open(run, Number(new URL(first.url).port))!;
  expect(Number(new URL(second.url).port)).toBeGreaterThan(Number(new URL(first.url).port));
  const all: ConsoleServer[] = [first, second];
  for (let count = 0; count < PORT_TRY_COUNT; count += 1) {
    const more = ConsoleServer.open(run, 18_441);
    if (more !== undefined) all.push(more);
  }
  expect(ConsoleServer.open(run, 18_441)).toBeUndefined();
  for (const each of all) each.close();
});

test("a run's page is at most 150 lines", async () => {
  const text = await Bun.file(new URL("./page.html", import.meta.url)).text();
  expect(text.split("\n").length - 1).toBeLessThanOrEqual(150);
});
