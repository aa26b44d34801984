// The policies that ship, by name. A new one is a file and a line here. An unknown name is refused
// with the names that are known.

import type { Policy } from "../contracts/policy.ts";
import { milliseconds } from "../contracts/units.ts";
import type { PolicyContext, PolicyFactory } from "./context.ts";
import { DocumentSinePolicy } from "./document-sine.ts";
import { HoldPolicy } from "./hold.ts";
import { jumpy } from "./jumpy.ts";
import { liar } from "./liar.ts";
import { notANumber } from "./not-a-number.ts";
import { PickPlacePolicy } from "./pick-place.ts";
import { PolicyError } from "./policy-error.ts";
import { ReachPolicy } from "./reach.ts";
import { silent } from "./silent.ts";
import { SinePolicy } from "./sine.ts";
import { SlowPolicy } from "./slow.ts";
import { StandPolicy, takesVelocities } from "./stand.ts";
import { SwingPolicy } from "./swing.ts";
import { TrajectoryPolicy } from "./trajectory.ts";

export type PolicyEntry = {
  readonly name: string;
  /** One line, for `--help`. */
  readonly description: string;
  readonly create: PolicyFactory;
};

/** Three cadences of a policy at 20 Hz: a gap at the start, none later. */
const SLOW_NS = milliseconds(150);

/** In the robot's own command space, as `hold` is. */
const sine = (context: PolicyContext): Policy =>
  takesVelocities(context) ? new SwingPolicy(context) : new SinePolicy(context);

export const policies: readonly PolicyEntry[] = [
  {
    name: "hold",
    description: "stay where the episode found the robot",
    create: (context) =>
      takesVelocities(context) ? new StandPolicy(context) : new HoldPolicy(context),
  },
  {
    name: "sine",
    description: "swing every joint a little around its start",
    create: sine,
  },
  {
    name: "document-sine",
    description: "command what was measured",
    create: (context) => new DocumentSinePolicy(context),
  },
  {
    name: "trajectory",
    description: "minimum-jerk motion through waypoints around home",
    create: (context) => new TrajectoryPolicy(context),
  },
  {
    name: "reach",
    description: "bring the tool to the task's goal",
    create: (context) => new ReachPolicy(context),
  },
  {
    name: "pick_place",
    description: "scripted expert: pick the object, place it on the goal",
    create: (context) => new PickPlacePolicy(context),
  },
  {
    name: "slow",
    description: "misbehaving: every decision takes effect 150 ms late",
    create: (context) => new SlowPolicy(sine(context), SLOW_NS),
  },
  {
    name: "silent",
    description: "misbehaving: stops deciding after two seconds",
    create: (context) => silent(sine(context)),
  },
  {
    name: "liar",
    description: "misbehaving: wrong epoch, order, schema and horizon in turn",
    create: (context) => liar(sine(context)),
  },
  {
    name: "nan",
    description: "misbehaving: decisions with values that are not numbers",
    create: (context) => notANumber(sine(context)),
  },
  {
    name: "jumpy",
    description: "misbehaving: decisions far from where the robot is",
    create: (context) => jumpy(new SinePolicy(context)),
  },
];

/** Builds a policy by name. Throws PolicyError for an unknown name, or one that does not fit. */
export function createPolicy(name: string, context: PolicyContext): Policy {
  const entry = policies.find((candidate) => candidate.name === name);
  if (entry !== undefined) return entry.create(context);
  const names = policies.map((known) => known.name);
  throw new PolicyError("unknown_policy", `Cannot find policy "${name}"`, {
    place: "--policy",
    expected: `${names.join(", ")}, or a path to a .ts, .js or .onnx file`,
    found: `"${name}"`,
  });
}
