// The driver conformance suite, run against the robots that need no physics, and against drivers
// that are broken on purpose: a suite that accepts those would be worth nothing.

import { describe, expect, test } from "bun:test";
import { conformanceCases, sensorConformanceCases } from "../hal/conformance.ts";
import type { ConformanceRig } from "../hal/conformance-bench.ts";
import { KinematicRobot } from "../hal/kinematic-robot.ts";
import { lifecycleError } from "../hal/lifecycle.ts";
import { LifecycleState } from "../hal/robot.ts";
import type { RobotInterface, RobotLifecycle } from "../hal/robot.ts";
import { SignalRobot } from "../hal/signal-robot.ts";
import type { RobotProfile } from "../runtime/contracts/profile.ts";
import { SampleSlot } from "../runtime/contracts/sample.ts";
import { sin } from "../runtime/contracts/trig.ts";
import { duration, instant } from "../runtime/contracts/units.ts";
import { loadRobot } from "../runtime/profile/load.ts";

const so101 = loadRobot("so101");
const wheeled: RobotProfile = {
  ...so101,
  joints: so101.joints.map((joint, index) =>
    index === 0 ? { ...joint, command: "velocity" } : joint,
  ),
};

function rigOf(
  profile: RobotProfile,
  robot: RobotInterface,
  silence: () => void,
  settleNs = 0,
): ConformanceRig {
  return {
    robot,
    joints: profile.joints,
    sources: profile.sources,
    periodNs: profile.periodNs,
    advanceTo: () => undefined,
    silence,
    toleranceRad: 0.001,
    settleNs: duration(settleNs + profile.periodNs),
    isSimulated: true,
    dispose: () => robot.lifecycle.close(),
  };
}

function kinematicRig(profile: RobotProfile, lagNs = 0, ageNs = 2_000_000): ConformanceRig {
  const options = { ageNs: duration(ageNs), lagNs: duration(lagNs) };
  const robot = new KinematicRobot(profile, profile.sources, options);
  const silence = (): void => {
    robot.isSilent = true;
  };
  return rigOf(profile, robot, silence, 15 * lagNs);
}

function signalRig(): ConformanceRig {
  const options = { signal: sin, stampDelayNs: duration(0), failAtNs: instant(Infinity) };
  const robot = new SignalRobot(so101, so101.sources, options);
  return rigOf(so101, robot, () => robot.lifecycle.close());
}

describe("a kinematic robot that follows exactly", () => {
  test.each([...conformanceCases(() => kinematicRig(so101))])("$name", ({ run }) => run());
});

describe("a kinematic robot with a lag of 50 ms", () => {
  const lagging = conformanceCases(() => kinematicRig(so101, 50_000_000, 0));
  test.each([...lagging])("$name", ({ run }) => run());
});

describe("a kinematic robot with a joint driven by velocity", () => {
  test.each([...conformanceCases(() => kinematicRig(wheeled))])("$name", ({ run }) => run());
});

describe("the one joint of document-one", () => {
  const profile = loadRobot("document-one");
  test.each([...conformanceCases(() => kinematicRig(profile))])("$name", ({ run }) => run());
});

describe("a signal robot, as far as it is a sensor", () => {
  test.each([...sensorConformanceCases(signalRig)])("$name", ({ run }) => run());
});

/** A rig whose robot refuses a reset while it is active, as a real one must. */
function realRig(refuses: boolean): ConformanceRig {
  const rig = kinematicRig(so101);
  const { sensor, actuator, lifecycle } = rig.robot;
  const guarded: RobotLifecycle = {
    get state() {
      return lifecycle.state;
    },
    activate: (nowNs) => lifecycle.activate(nowNs),
    deactivate: (nowNs) => lifecycle.deactivate(nowNs),
    close: () => lifecycle.close(),
    reset: (seed) => {
      if (refuses && lifecycle.state === LifecycleState.Active) {
        throw lifecycleError("arm", "reset", "an inactive device", lifecycle.state);
      }
      lifecycle.reset(seed);
    },
  };
  return { ...rig, isSimulated: false, robot: { sensor, actuator, lifecycle: guarded } };
}

test("a robot that claims to be real must refuse a reset while it is active", () => {
  const resets = (refuses: boolean) =>
    conformanceCases(() => realRig(refuses)).find(({ name }) => name.startsWith("reset goes home"));
  expect(() => resets(true)?.run()).not.toThrow();
  expect(() => resets(false)?.run()).toThrow("expected a reset while active to be refused");
});

type Breakage = (rig: ConformanceRig) => Partial<RobotInterface>;

/** Drivers that do one thing wrong, and the case that must tell. */
const broken: Readonly<Record<string, Breakage>> = {
  "nothing is driven unless active": ({ robot }) => ({
    actuator: {
      send: (command) => {
        robot.lifecycle.activate(instant(0));
        robot.actuator.send(command);
      },
    },
  }),
  "observing again brings nothing new and clears the arrival flags": ({ robot }) => ({
    sensor: {
      observeInto: (snapshot, nowNs) => {
        const before = snapshot.arrived.slice();
        robot.sensor.observeInto(snapshot, nowNs);
        if (!snapshot.arrived.includes(1)) snapshot.arrived.set(before);
      },
    },
  }),
  "samples come at the rate of their source, each newer than the last": ({ robot }) => ({
    sensor: {
      observeInto: (snapshot, nowNs) => {
        robot.sensor.observeInto(snapshot, nowNs);
        snapshot.samples[0]!.record[SampleSlot.sensorStampNs] = nowNs + 1;
      },
    },
  }),
  "stamps and sequence ids go on across a reset": ({ robot }) => {
    let isReset = false;
    return {
      lifecycle: {
        get state() {
          return robot.lifecycle.state;
        },
        activate: (nowNs) => robot.lifecycle.activate(nowNs),
        deactivate: (nowNs) => robot.lifecycle.deactivate(nowNs),
        close: () => robot.lifecycle.close(),
        reset: (seed) => {
          isReset = true;
          robot.lifecycle.reset(seed);
        },
      },
      sensor: {
        observeInto: (snapshot, nowNs) => {
          robot.sensor.observeInto(snapshot, nowNs);
          if (isReset) snapshot.samples[0]!.record[SampleSlot.seq] = 1;
        },
      },
    };
  },
  "velocity is the derivative of position": ({ robot }) => ({
    sensor: {
      observeInto: (snapshot, nowNs) => {
        robot.sensor.observeInto(snapshot, nowNs);
        const { payload, jointCount } = snapshot.samples[0]!;
        payload[jointCount]! *= 180 / Math.PI; // degrees per second
      },
    },
  }),
  "each joint follows its own command, in rad": ({ robot }) => ({
    sensor: {
      observeInto: (snapshot, nowNs) => {
        robot.sensor.observeInto(snapshot, nowNs);
        const { payload, jointCount } = snapshot.samples[0]!;
        payload.subarray(0, jointCount).reverse();
      },
    },
  }),
};

describe("a driver with one thing wrong fails the case about it", () => {
  test.each(Object.entries(broken))("%s", (name, breakage) => {
    const make = (): ConformanceRig => {
      const rig = kinematicRig(so101);
      const { sensor, actuator, lifecycle } = rig.robot;
      return { ...rig, robot: { sensor, actuator, lifecycle, ...breakage(rig) } };
    };
    const found = conformanceCases(make).find((one) => one.name === name);
    expect(() => found?.run()).toThrow("Cannot accept the driver: expected ");
  });
});
