// What the tests of pictures share: a task that requires the camera, a policy in Python that says
// what it sees, and a line that counts what a robot sends.

import { createServer, connect } from "node:net";
import type { AddressInfo, Server } from "node:net";
import { join } from "node:path";

/** A task that is to be decided on pictures only, written into `folder`; its path. */
export async function writeSeeTask(folder: string): Promise<string> {
  const path = join(folder, "see.yaml");
  await Bun.write(
    path,
    `kind: task
schema_version: 1
name: see
task_kind: none
description: Decide on pictures only
instruction: Look.
default_policy: hold
objects: []
sources: []
requires: [scene]
goal_m: [0, 0, 0]
goal_radius_m: 1
dwell_ms: 500
time_limit_ms: 60000
quality_ratio_min: 0.5
`,
  );
  return path;
}

/** As `fixtures/policy-colours.ts`. `Plain` says nothing of JPEG. */
export const COLOURS_IN_PYTHON = `import sys
import numpy as np
from holdfast_host import Policy


class Plain(Policy):
    def act(self, observation):
        blocks = observation.images["scene"].reshape(2, 112, 2, 112, 3)
        means = blocks.mean(axis=(1, 3)).ravel()
        print("colours", *(f"{mean:.2f}" for mean in means), file=sys.stderr, flush=True)
        return np.tile(observation.command_rad, (self.horizon, 1))


class Colours(Plain):
    accepts_jpeg = True
`;

/** The lines of either policy, as numbers. */
export function coloursIn(text: string): number[][] {
  return [...text.matchAll(/^colours (.*)$/gm)].map(([, numbers]) =>
    numbers!.split(" ").map(Number),
  );
}

/** A TCP line to a port of this machine that counts the bytes on their way there. */
export class CountingLine {
  sentCount = 0;
  readonly port: number;
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
  }

  static open(toPort: number): Promise<CountingLine> {
    return new Promise((resolve) => {
      const server = createServer((near) => {
        const far = connect(toPort, "127.0.0.1");
        near.on("data", (bytes) => {
          line.sentCount += bytes.length;
        });
        for (const [from, to] of [
          [near, far],
          [far, near],
        ] as const) {
          from.pipe(to);
          from.on("error", () => to.destroy());
        }
      });
      let line: CountingLine;
      server.listen(0, "127.0.0.1", () => {
        line = new CountingLine(server);
        resolve(line);
      });
    });
  }

  close(): void {
    this.#server.close();
  }
}
