// What a run refuses of `--policy openpi://…` before it starts, in the words that a person reads,
// and what it makes of a good one.

import { expect, test } from "bun:test";
import { parseOpenpiAddress } from "../link/openpi-address.ts";
import { runOptions } from "./run-command.ts";
import { UsageError } from "./usage.ts";

const PROFILE = "so101-openpi-velocities";

function refusal(profile: string, policy: string): string {
  try {
    runOptions(profile, { policy });
    return "nothing";
  } catch (error) {
    expect(error).toBeInstanceOf(UsageError);
    return (error as UsageError).message;
  }
}

test("a server of another machine is refused with the tunnel to it", () => {
  const text = (host: string, port: number): string =>
    "Cannot use --policy: expected a server of this machine, for openpi has no TLS: " +
    `ssh -N -L ${port}:127.0.0.1:${port} ${host} and openpi://127.0.0.1:${port}, ` +
    `found "openpi://${host}`;
  expect(refusal(PROFILE, "openpi://gpu-box:9000")).toBe(`${text("gpu-box", 9000)}:9000"`);
  expect(refusal(PROFILE, "openpi://10.0.0.7")).toBe(`${text("10.0.0.7", 8000)}"`);
  expect(refusal(PROFILE, "openpi://0.0.0.0:8000")).toContain("expected a server of this machine");
});

test.each([
  "openpi://",
  "openpi://a b",
  "openpi://x:70000",
  "openpi://x:0",
  "openpi://[::1",
  "openpi://x/y",
])("%s is no address", (policy) => {
  expect(refusal(PROFILE, policy)).toContain("expected openpi://HOST:PORT");
});

test("a robot that is not mapped is refused with the deployments that are", () => {
  expect(refusal("so101", "openpi://127.0.0.1:8000")).toBe(
    "Cannot use PROFILE: expected a deployment with a section openpi, such as " +
      "so101-openpi-positions, so101-openpi-velocities, ur5e-openpi-tool, " +
      "found so101, which has none",
  );
});

test("the task waits for the pictures that the server is shown, for that policy only", () => {
  const { plan } = runOptions(PROFILE, { policy: "openpi://localhost", task: "pick_place" });
  expect(plan.openpi?.space).toBe("joint_vel");
  expect(plan.task.requires).toEqual(["cube_pose", "scene"]);
  const other = runOptions(PROFILE, { policy: "sine" }).plan;
  expect(other.openpi).toBeUndefined();
  expect(other.task.requires).toEqual([]);
});

test("pictures take real time: lockstep is refused at the option, before anything loads", () => {
  const asked = { policy: "openpi://127.0.0.1:8000", time: "lockstep" } as const;
  expect(() => runOptions(PROFILE, asked)).toThrow(
    'Cannot use --time: expected streaming, as the server is shown pictures, found "lockstep"',
  );
});

test("addresses of this machine, with and without a port", () => {
  const read = (url: string): unknown => {
    const { target, isLoopback } = parseOpenpiAddress(url)!;
    return [target, isLoopback];
  };
  expect(read("openpi://localhost")).toEqual(["localhost:8000", true]);
  expect(read("openpi://127.0.0.1:81")).toEqual(["127.0.0.1:81", true]);
  expect(read("openpi://[::1]")).toEqual(["[::1]:8000", true]);
  expect(read("openpi://[::1]:99")).toEqual(["[::1]:99", true]);
});
