// Tests over the whole lifecycle matrix: its invariants and its reachability, that no act does more
// when it is repeated, and the facts an error carries.

import { expect, test } from "bun:test";
import {
  HalError,
  LifecycleCue,
  lifecycleError,
  lifecycleStateNames,
  lifecycleStep,
  refusesActivation,
} from "./lifecycle.ts";
import { LifecycleState } from "./robot.ts";

const states = Object.values(LifecycleState);
const cues = Object.values(LifecycleCue);

test("names and codes of the states agree", () => {
  const names = Object.keys(LifecycleState).map((name) => name.toLowerCase());
  expect([...lifecycleStateNames] as string[]).toEqual(names);
});

test("Active is entered only by Activate from Inactive", () => {
  const ways = states
    .filter((state) => state !== LifecycleState.Active)
    .flatMap((state) =>
      cues
        .filter((cue) => lifecycleStep(state, cue) === LifecycleState.Active)
        .map((cue) => [state, cue]),
    );
  expect(ways).toEqual([[LifecycleState.Inactive, LifecycleCue.Activate]]);
});

test("a fault is left only by Reset or Close, and never towards Active", () => {
  const ends = cues.map((cue) => lifecycleStep(LifecycleState.Fault, cue));
  const { Fault, Inactive, Closed } = LifecycleState;
  expect(ends).toEqual([Fault, Fault, Fault, Inactive, Closed]);
});

test("Closed is final", () => {
  for (const cue of cues) expect(lifecycleStep(LifecycleState.Closed, cue)).toBe(3);
});

test("Fail and Close always have the last word", () => {
  for (const state of states) {
    const closed = state === LifecycleState.Closed;
    const failed = closed ? LifecycleState.Closed : LifecycleState.Fault;
    expect(lifecycleStep(state, LifecycleCue.Fail)).toBe(failed);
    expect(lifecycleStep(state, LifecycleCue.Close)).toBe(LifecycleState.Closed);
  }
});

test("every act is idempotent in every state", () => {
  for (const state of states) {
    for (const cue of cues) {
      const once = lifecycleStep(state, cue);
      expect(lifecycleStep(once, cue)).toBe(once);
    }
  }
});

test("every state is reached from Inactive", () => {
  const seen = new Set<LifecycleState>([LifecycleState.Inactive]);
  for (const state of seen) for (const cue of cues) seen.add(lifecycleStep(state, cue));
  expect([...seen].sort()).toEqual([0, 1, 2, 3]);
});

test("activation is refused by a faulty and by a closed device", () => {
  expect(states.map(refusesActivation)).toEqual([false, false, true, true]);
});

test("an error names device, joint, expected and found", () => {
  const error = new HalError({
    code: "joint_missing",
    device: "arm",
    action: "activate",
    joint: "elbow",
    expected: "a valid read",
    found: "silence",
  });
  const text = 'Cannot activate on "arm", joint "elbow": expected a valid read, found silence';
  expect(error.message).toBe(text);
  expect({ ...error }).toMatchObject({
    code: "joint_missing",
    device: "arm",
    joint: "elbow",
    expected: "a valid read",
    found: "silence",
  });
  const refused = lifecycleError("arm", "activate", "an inactive device", LifecycleState.Fault);
  expect(refused.message).toBe(
    'Cannot activate on "arm": expected an inactive device, found the lifecycle state fault',
  );
});
