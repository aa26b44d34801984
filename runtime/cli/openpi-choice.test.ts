// What a run refuses of `--policy openpi://…` before it starts, in the words that a person reads,
// and what it makes of a good one.

import { expect, test } from "bun:test";
import { join } from "node:path";
import { parseOpenpiAddress } from "../link/openpi-address.ts";
import { freshFolder } from "./fixture.ts";
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

test("a robot that sends JPEG is refused where the server is shown pictures", async () => {
  const folder = freshFolder();
  const profiles = join(import.meta.dir, "../../profiles");
  const robot = await Bun.file(join(profiles, "so101.yaml")).text();
  await Bun.write(
    join(folder, "so101.yaml"),
    robot
      .replace("models/so101.xml", join(profiles, "models/so101.xml"))
      .replace("blend_ms: 0", "blend_ms: 0\n  picture_encoding: jpeg"),
  );
  const deployment = await Bun.file(join(profiles, `deployments/${PROFILE}.yaml`)).text();
  const named = (text: string): string => text.replace("robot: so101", "robot: ./so101.yaml");
  const path = join(folder, "mine.yaml");
  await Bun.write(path, named(deployment));
  const asked = { policy: "openpi://localhost" };
  const line = robot.split("\n").findIndex((text) => text.includes("blend_ms: 0")) + 2;
  expect(() => runOptions(path, asked)).toThrow(
    `${folder}/so101.yaml:${line}:21: policy.picture_encoding: ` +
      'expected rgb8 for an openpi server, which is sent pixels, found "jpeg"',
  );
  await Bun.write(path, named(deployment.replace(/ {4}pictures:\n(?: {6}- .*\n)+/, "")));
  expect(runOptions(path, asked).plan.openpi?.pictures).toEqual([]);
  expect(runOptions(path, { policy: "sine" }).plan.robot.policy.pictureEncoding).toBe("jpeg");
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
