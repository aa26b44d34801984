// The command that repeats a run is read back by a shell and by the program itself: it must ask for
// the very same run.

import { expect, test } from "bun:test";
import { duration } from "../contracts/units.ts";
import { againCommand } from "./again.ts";
import type { RunValues } from "./run-command.ts";

test("nothing that was given is left out, and nothing that was not is added", () => {
  expect(againCommand("holdfast", undefined, {}, undefined)).toBe("holdfast run");
  const values: RunValues = {
    policy: "./my policies/it's.ts",
    task: "reach",
    time: "lockstep",
    policyLatency: "normal:150ms,40ms",
    seed: 7,
    fault: ["freeze:joints@2s+500ms", "drop:joints%20"],
    spinTail: duration(12_500),
    port: 9_000,
    estop: "emulated",
    autoReset: false,
    waitForStart: true,
    json: true,
  };
  expect(againCommand("../scripts/run", "./my-arm.yaml", values, 0.96)).toBe(
    "../scripts/run run ./my-arm.yaml --policy './my policies/it'\\''s.ts' --task reach " +
      "--duration 0.96 --time lockstep --policy-latency normal:150ms,40ms --seed 7 " +
      "--fault freeze:joints@2s+500ms --fault drop:joints%20 --spin-tail 12.5 " +
      "--estop emulated --no-auto-reset --wait-for-start",
  );
});

test("a shell reads back the words that were given", async () => {
  const policy = "./a b$HOME`id`\"'\\!*?~;&|<>(){}[]#\n.ts";
  const line = againCommand("printf", undefined, { policy }, undefined);
  const words = await new Response(
    Bun.spawn(["sh", "-c", line.replace("printf run", "printf '%s\\0'")]).stdout,
  ).text();
  expect(words).toBe(`--policy\0${policy}\0`);
});
