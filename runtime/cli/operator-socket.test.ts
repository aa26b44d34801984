// The operator socket over a real Unix socket: who may reach it, what it answers, what it refuses,
// and how runs are found, dead ones included.

import { expect, test } from "bun:test";
import { existsSync, lstatSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { FakeRun, freshUser } from "./fixture.ts";
import { askRun, OperatorError, runSockets } from "./operator-client.ts";
import { REQUEST_SIZE_BYTES_MAX } from "./operator-protocol.ts";
import { OperatorSocket } from "./operator-socket.ts";

/** Sends bytes as they are and collects all lines until the other end closes or enough came. */
function talk(path: string, parts: readonly string[], lineCount: number): Promise<string[]> {
  const { promise, resolve, reject } = Promise.withResolvers<string[]>();
  let received = "";
  const lines = () => received.split("\n").slice(0, -1);
  Bun.connect({
    unix: path,
    socket: {
      open: (socket) => {
        for (const part of parts) socket.write(part);
      },
      data: (socket, bytes) => {
        received += bytes.toString();
        if (lines().length >= lineCount) {
          socket.end();
          resolve(lines());
        }
      },
      close: () => resolve(lines()),
    },
  }).catch(reject);
  return promise;
}

const codeOf = (line: string): unknown =>
  (JSON.parse(line) as { error?: { code: string } }).error?.code;

test("only its user can reach the socket, under the run's process id", () => {
  const user = freshUser();
  const socket = OperatorSocket.open(new FakeRun(), 4242, user);
  const folder = join(user.environment["XDG_RUNTIME_DIR"]!, "holdfast");
  const mode = (path: string) => (lstatSync(path).mode & 0o777).toString(8);
  expect({
    path: socket.path,
    socket: mode(socket.path),
    folder: mode(folder),
    names: readdirSync(folder),
  }).toEqual({
    path: join(folder, "4242.sock"),
    socket: "600",
    folder: "700",
    names: ["4242.sock"],
  });
  socket.close();
  expect(existsSync(socket.path)).toBe(false);
});

test("requests in one or many pieces are answered in order", async () => {
  const run = new FakeRun();
  const socket = OperatorSocket.open(run, 1, freshUser());
  const lines = await talk(socket.path, ['{"meth', 'od":"stop"}\n{"method":"reset"}\n{', "\n"], 3);
  socket.close();
  expect(run.asked).toEqual(["stop", "reset"]);
  expect(lines.slice(0, 2)).toEqual([
    '{"accepted":true,"text":"stop heard"}',
    '{"accepted":true,"text":"reset heard"}',
  ]);
  expect(codeOf(lines[2]!)).toBe("bad_json");
});

test.each([
  ["with an end", `${" ".repeat(REQUEST_SIZE_BYTES_MAX)}{"method":"stop"}\n`],
  ["without one", "x".repeat(REQUEST_SIZE_BYTES_MAX + 1)],
])("a request that is too long, %s, is refused and its connection closed", async (_, text) => {
  const run = new FakeRun();
  const socket = OperatorSocket.open(run, 1, freshUser());
  const lines = await talk(socket.path, [text], 99);
  socket.close();
  expect({ codes: lines.map(codeOf), asked: run.asked }).toEqual({
    codes: ["too_long"],
    asked: [],
  });
});

test("the longest request that is allowed is answered", async () => {
  const run = new FakeRun();
  const socket = OperatorSocket.open(run, 1, freshUser());
  const text = '{"method":"stop"}'.padStart(REQUEST_SIZE_BYTES_MAX);
  await talk(socket.path, [`${text}\n`], 1);
  socket.close();
  expect(run.asked).toEqual(["stop"]);
});

test("of more clients than anyone has terminals only a stop is heard", async () => {
  const run = new FakeRun();
  const socket = OperatorSocket.open(run, 1, freshUser());
  const idle = await Promise.all(
    Array.from({ length: 16 }, () => {
      const { promise, resolve } = Promise.withResolvers<Bun.Socket>();
      void Bun.connect({
        unix: socket.path,
        socket: {
          open: (client) => {
            client.write('{"method":"status"}\n');
          },
          data: (client) => resolve(client),
        },
      });
      return promise;
    }),
  );
  const busy = await talk(socket.path, ['{"method":"reset"}\n{"method":"start"}\n'], 99);
  const stop = await talk(socket.path, ['{"method":', '"stop"}\n'], 99);
  for (const client of idle) client.end();
  socket.close();
  expect({ busy: busy.map(codeOf), stop, asked: run.asked }).toEqual({
    busy: ["busy"],
    stop: ['{"accepted":true,"text":"stop heard"}'],
    asked: ["stop"],
  });
});

test("a run whose folder is a trap uses the next one, or says why there is none", () => {
  const user = freshUser();
  const trap = join(user.environment["XDG_RUNTIME_DIR"]!, "holdfast");
  symlinkSync("/", trap);
  const stranger = { ...user, uid: user.uid + 100_000 };
  expect(() => OperatorSocket.open(new FakeRun(), 1, stranger)).toThrow(
    `Cannot use "${trap}": expected a folder, found a link`,
  );
});

test.each([
  ["a file", (path: string) => writeFileSync(path, "")],
  ["a loop", (path: string) => symlinkSync(path, path)],
  ["nothing", () => undefined],
])("where the session's folder is %s, runs are found elsewhere", (_, make) => {
  const { uid, environment } = freshUser();
  const path = join(environment["XDG_RUNTIME_DIR"]!, "x");
  make(path);
  for (const folder of [path, join(path, "y".repeat(300)), `/${"long/".repeat(2_000)}`]) {
    const user = { uid, environment: { XDG_RUNTIME_DIR: folder } };
    expect(runSockets(user).filter((run) => run.path.startsWith(folder))).toEqual([]);
  }
});

test("a folder in which no socket can be made is told by name", () => {
  const user = freshUser();
  const folder = join(user.environment["XDG_RUNTIME_DIR"]!, "holdfast");
  mkdirSync(join(folder, ".1.new"), { recursive: true });
  const elsewhere = OperatorSocket.open(new FakeRun(), 1, user);
  elsewhere.close();
  expect(dirname(elsewhere.path)).toBe(`${user.root}/tmp/holdfast-${user.uid}`);
});

test("live runs are found and asked, and nothing else in the folder is", async () => {
  const user = freshUser();
  const runs = [new FakeRun({ profile: "a" }), new FakeRun({ profile: "b" })];
  const sockets = runs.map((run, index) => OperatorSocket.open(run, 30 - index, user));
  writeFileSync(join(dirname(sockets[0]!.path), "7.sock"), "no socket");
  mkdirSync(join(dirname(sockets[0]!.path), "x.sock"));
  const found = runSockets(user);
  const answers = await Promise.all(found.map((run) => askRun(run, "status")));
  for (const socket of sockets) socket.close();
  expect(found.map(({ pid }) => pid)).toEqual([29, 30]);
  expect(answers.map((answer) => answer.kind === "status" && answer.status.profile)).toEqual([
    "b",
    "a",
  ]);
});

test("the socket of a run that died is removed when somebody asks", async () => {
  const user = freshUser();
  const path = join(user.environment["XDG_RUNTIME_DIR"]!, "holdfast", "99.sock");
  const script = `
    import { FakeRun } from "${import.meta.dir}/fixture.ts";
    import { OperatorSocket } from "${import.meta.dir}/operator-socket.ts";
    OperatorSocket.open(new FakeRun(), 99, ${JSON.stringify(user)});
    process.kill(process.pid, "SIGKILL");`;
  await Bun.spawn([process.execPath, "-e", script]).exited;
  expect(existsSync(path)).toBe(true);
  const [run] = runSockets(user);
  const error: unknown = await askRun(run!, "stop").catch((cause: unknown) => cause);
  expect(error).toBeInstanceOf(OperatorError);
  expect(error).toMatchObject({
    code: "no_listener",
    pid: 99,
    message: "Cannot talk to run 99: it is gone",
  });
  expect(existsSync(path)).toBe(false);
});

test("a run that hangs is reported, never waited for", async () => {
  const path = join(freshUser().environment["XDG_RUNTIME_DIR"]!, "a.sock");
  const listener = Bun.listen({ unix: path, socket: { data: () => undefined } });
  const error: unknown = await askRun({ pid: 5, path }, "stop", 1).catch((cause: unknown) => cause);
  listener.stop(true);
  expect(error).toMatchObject({
    code: "no_answer",
    message:
      "Cannot talk to run 5: no answer within 1 ms; " +
      "cut the power by hand if it moves, or kill 5",
  });
});

test("a run that closes, or answers rubbish, is told apart", async () => {
  const user = freshUser();
  const path = join(user.environment["XDG_RUNTIME_DIR"]!, "a.sock");
  const listen = (answer: string | undefined) =>
    Bun.listen({
      unix: path,
      socket: {
        data: (socket) => {
          if (answer !== undefined) socket.write(answer);
          else socket.end();
        },
      },
    });
  const errors: unknown[] = [];
  for (const answer of [undefined, "rubbish\n", "x".repeat(70_000)]) {
    const listener = listen(answer);
    errors.push(
      await askRun({ pid: 5, path }, "status").catch(
        (cause: unknown) => (cause as OperatorError).code,
      ),
    );
    listener.stop(true);
    await Bun.$`rm -f ${path}`;
  }
  expect(errors).toEqual(["no_answer", "bad_answer", "bad_answer"]);
});
