// What `--estop` may be, with every refusal by name, and what people are told of a chip's mode and
// cause. No process and no board: the records are written here.

import { expect, test } from "bun:test";
import { EstopBuild, EstopMode } from "../contracts/estop-codes.ts";
import { EstopStatusSlot } from "../contracts/estop-line.ts";
import { EstopProblem } from "../../safety/estop-link.ts";
import { loadRobot } from "../profile/load.ts";
import { createArena } from "../shm/arena.ts";
import { EstopWish } from "../shm/estop-wish.ts";
import { LatestWriter } from "../shm/latest-cell.ts";
import { arenaParts } from "../workers/plan.ts";
import { instant, milliseconds } from "../contracts/units.ts";
import { emulatedStopMs, EstopWatch, stopNsMinOf } from "./estop-watch.ts";
import { runOptions } from "./run-command.ts";
import type { EstopChoice } from "./run-options.ts";

test("an e-stop is emulated, a path, or none; nobody at a terminal presses the reset", () => {
  const choices: readonly [string | undefined, boolean | undefined, boolean, EstopChoice][] = [
    [undefined, true, true, { kind: "none" }],
    ["none", true, false, { kind: "none" }],
    ["emulated", true, false, { kind: "emulated", autoReset: true }],
    ["emulated", false, false, { kind: "emulated", autoReset: false }],
    ["emulated", true, true, { kind: "emulated", autoReset: false }],
    ["/dev/ttyUSB0", true, false, { kind: "board", path: "/dev/ttyUSB0" }],
  ];
  for (const [estop, autoReset, hasKeyboard, choice] of choices) {
    const values = {
      ...(estop !== undefined && { estop }),
      ...(autoReset === false && { autoReset }),
    };
    expect(runOptions("so101", values, hasKeyboard).estop).toEqual(choice);
  }
});

test("an e-stop that can't be is refused by name", () => {
  expect(() => runOptions("so101", { estop: "nano" })).toThrow(
    'Cannot use --estop: expected emulated, none, or the path of its serial line, found "nano"',
  );
  expect(() => runOptions("so101", { estop: "emulated", time: "lockstep" })).toThrow(
    "Cannot use --estop: expected --time streaming with it, found --time lockstep",
  );
  expect(() => runOptions("so101", { estop: "/dev/x", autoReset: false })).toThrow(
    "Cannot use --no-auto-reset: expected --estop emulated with it",
  );
});

/** A watch whose chip and clock the test writes. */
class Watched {
  readonly told: string[] = [];
  readonly pressed: string[] = [];
  readonly facts = { nowNs: instant(0), isStarting: true, isActive: false, isEnableLost: false };
  readonly watch: EstopWatch;
  /** The driver's end of what a person wishes. */
  readonly wish: EstopWish;
  readonly #status: LatestWriter;
  #built = { build: 0, silenceMs: 0 };

  constructor(estop: EstopChoice, profile = "so101", waitsForStart = false) {
    const { plan } = runOptions(profile, {});
    const arena = createArena(arenaParts(plan));
    this.#status = new LatestWriter(arena.cell("estop-status"));
    this.wish = new EstopWish(arena.words("estop-wish"));
    const keys = { press: (key: string): number => this.pressed.push(key) };
    this.watch = new EstopWatch(
      arena,
      { plan, estop, waitsForStart },
      estop.kind === "emulated" ? keys : undefined,
      () => this.facts,
      (text) => this.told.push(text),
    );
  }

  built(constants: { readonly build: number; readonly silenceMs: number }): this {
    this.#built = constants;
    return this;
  }

  tell(mode: number, cause = 0, problem = 0, lastBad = 0): this {
    const { record } = this.#status;
    record.fill(0);
    record[EstopStatusSlot.heard] = 1;
    record[EstopStatusSlot.mode] = mode;
    record[EstopStatusSlot.cause] = cause;
    record[EstopStatusSlot.problem] = problem;
    record[EstopStatusSlot.stopMs] = 300;
    record[EstopStatusSlot.build] = this.#built.build;
    record[EstopStatusSlot.silenceMs] = this.#built.silenceMs;
    record[EstopStatusSlot.lastBad] = lastBad;
    record[EstopStatusSlot.outputs] = mode === EstopMode.Armed && lastBad === 0 ? 3 : 0;
    this.#status.publish();
    this.watch.poll();
    return this;
  }

  /** Polls each 100 ms for a time. */
  wait(ms: number): this {
    for (let waitedMs = 0; waitedMs < ms; waitedMs += 100) {
      this.facts.nowNs = instant(this.facts.nowNs + 1e8);
      this.watch.poll();
    }
    return this;
  }
}

test("a proof test is not asked of a chip that nobody has heard, or whose line is gone", () => {
  const watched = new Watched({ kind: "board", path: "/dev/x" });
  const refused = "prooftest refused: nobody to ask, e-stop board:";
  const asked = (): unknown => {
    const { accepted, text } = watched.watch.proveAgain();
    return [accepted, text.startsWith(refused), watched.wish.takeProof()];
  };
  expect(watched.watch.proveAgain().text).toBe(`${refused} not heard yet`);
  expect(asked()).toEqual([false, true, false]);
  watched.tell(EstopMode.Tripped);
  expect(asked()).toEqual([true, false, true]);
  watched.tell(EstopMode.Tripped, 0, EstopProblem.Gone);
  expect(asked()).toEqual([false, true, false]);
});

test("mode, cause and problem are told once each time they change, and a board has no keys", () => {
  const watched = new Watched({ kind: "board", path: "/dev/x" });
  const { told, watch } = watched;
  watch.poll();
  watched.tell(EstopMode.WaitReset, 1, 0).wait(3_000);
  expect(watch.pressReset()?.text).toContain("press the reset button of the e-stop");
  watched.tell(EstopMode.Armed, 0, 0);
  expect(watch.pressReset()).toBeUndefined();
  expect(watch.proveAgain().accepted).toBe(false);
  watched.tell(EstopMode.Armed, 0, 0).tell(EstopMode.Armed, 0, 0, 7).tell(EstopMode.Tripped, 6, 4);
  expect(watch.pressButton().accepted).toBe(false);
  expect(watch.proveAgain().accepted).toBe(true);
  expect(told).toEqual([
    "e-stop board: not heard yet",
    "e-stop board: WAIT_RESET by power_on",
    "e-stop board: ARMED",
    "e-stop board: ARMED, outputs open: answers late",
    "e-stop board: TRIPPED by silence, proof_failed",
  ]);
});

test("a board whose build weakens it says so all run, an emulated one's T_wd is its own", () => {
  const built = { build: EstopBuild.ResetFromLink | EstopBuild.ChainFitted, silenceMs: 100 };
  const board = new Watched({ kind: "board", path: "/dev/x" }).built(built).tell(EstopMode.Armed);
  expect(board.watch.text).toBe("board: ARMED, bench build: resets from the link, T_wd 100 ms");
  expect(board.told).toEqual([`e-stop ${board.watch.text}`]);
  const shipped = new Watched({ kind: "board", path: "/dev/x" })
    .built({ build: EstopBuild.ChainFitted, silenceMs: 25 })
    .tell(EstopMode.Armed);
  expect(shipped.watch.text).toBe("board: ARMED");
  const emulated = new Watched({ kind: "emulated", autoReset: false }).built(built);
  expect(emulated.tell(EstopMode.Armed).watch.text).toBe("emulated: ARMED");
});

test("no other proof test is asked of a chip that believes it has passed", () => {
  const { Proof, Tripped, WaitReset } = EstopMode;
  const board = new Watched({ kind: "board", path: "/dev/x" });
  const answers = [
    board.tell(WaitReset, 1, EstopProblem.ProofEcho).watch.proveAgain(),
    board.tell(Tripped, 1, EstopProblem.ProofEcho).watch.proveAgain(),
    board.tell(Proof, 1, EstopProblem.ProofFailed).watch.proveAgain(),
  ];
  expect(answers.map(({ accepted }) => accepted)).toEqual([false, true, true]);
  expect(answers[0]!.text).toEndWith("press its button, then ask anew");
});

test("only an emulated e-stop and a bench build are armed from here", () => {
  const board = () => new Watched({ kind: "board", path: "/dev/x" });
  const all = [
    new Watched({ kind: "emulated", autoReset: false }),
    board().built({ build: EstopBuild.ChainFitted, silenceMs: 25 }).tell(EstopMode.WaitReset),
    board().built({ build: EstopBuild.ResetFromLink, silenceMs: 25 }).tell(EstopMode.WaitReset),
    new Watched({ kind: "none" }),
  ];
  expect(all.map(({ watch }) => watch.armsFromHere)).toEqual([true, false, true, false]);
});

test("a bench build's reset is sent by whoever types it, once it waits for one", () => {
  const { Armed, Proof, WaitReset } = EstopMode;
  const bench = { build: EstopBuild.ResetFromLink | EstopBuild.ChainFitted, silenceMs: 25 };
  const board = new Watched({ kind: "board", path: "/dev/x" }).built(bench);
  expect(board.tell(Proof).watch.pressReset()).toBeUndefined();
  expect(board.wish.takeReset()).toBe(false);
  expect(board.tell(WaitReset).watch.pressReset()).toEqual({
    accepted: true,
    text: "e-stop reset sent, as its bench build takes it: the run begins once it is armed",
  });
  expect([board.wish.takeReset(), board.wish.takeReset()]).toEqual([true, false]);
  expect(board.tell(Armed).watch.pressReset()).toBeUndefined();
  expect(board.tell(WaitReset, 0, EstopProblem.ProofEcho).watch.pressReset()).toEqual({
    accepted: false,
    text: "reset refused: e-stop board: WAIT_RESET, proof_echo, bench build: resets from the link",
  });
  expect(board.wish.takeReset()).toBe(false);
  const shipped = new Watched({ kind: "board", path: "/dev/x" })
    .built({ build: EstopBuild.ChainFitted, silenceMs: 25 })
    .tell(WaitReset);
  expect(shipped.watch.pressReset()?.accepted).toBe(false);
  expect(shipped.wish.takeReset()).toBe(false);
  const emulated = new Watched({ kind: "emulated", autoReset: false }).built(bench);
  expect(emulated.tell(WaitReset).watch.pressReset()?.text).toStartWith("e-stop reset pressed");
  expect([emulated.wish.takeReset(), emulated.pressed]).toEqual([false, ["reset"]]);
});

test("arming a service's e-stop does not begin its run, and no answer says so", () => {
  const service = new Watched({ kind: "emulated", autoReset: false }, "so101", true);
  expect(service.tell(EstopMode.WaitReset).watch.pressReset()).toEqual({
    accepted: true,
    text: "e-stop reset pressed",
  });
});

test("what only a new run brings back is named: the enable line before the e-stop's own", () => {
  const watched = new Watched({ kind: "emulated", autoReset: false }).tell(EstopMode.Armed);
  expect(watched.watch.lost).toBe("");
  watched.tell(EstopMode.Armed, 0, EstopProblem.Gone);
  expect(watched.watch.lost).toBe("the e-stop's line is gone");
  watched.facts.isEnableLost = true;
  watched.tell(EstopMode.Armed);
  expect(watched.watch.lost).toBe("the e-stop's enable line is lost");
  expect(watched.told).toEqual([
    "e-stop emulated: ARMED",
    "e-stop emulated: ARMED, gone",
    "e-stop emulated: ARMED, enable line lost",
  ]);
});

test("a firmware whose SS1-t is too short is told once, with both times and what to type", () => {
  const { told } = new Watched({ kind: "board", path: "/dev/x" }, "ur5e")
    .tell(EstopMode.Tripped, 1, 2)
    .wait(500);
  expect(told).toEqual([
    "e-stop board: TRIPPED by power_on, stop_too_short",
    "e-stop: SS1-t of its firmware is 300 ms, and ur5e needs 325 ms to stop (v_max / a_stop and " +
      "two periods), so it is never armed: make -C safety/firmware m328p STOP_MS=325, then flash " +
      "that image",
  ]);
});

test("nobody there: the reset is pressed once, again while nothing moved, and never after", () => {
  const auto = { kind: "emulated", autoReset: true } as const;
  const stuck = new Watched(auto).tell(EstopMode.WaitReset, 1).wait(30_000);
  expect(stuck.pressed.length).toBe(10); // within the start timeout of 10 s
  expect(stuck.told[1]).toContain("presses it this once");
  expect(stuck.told[2]).toContain("nothing has moved, so the run presses its reset again");

  const tripped = new Watched(auto).tell(EstopMode.WaitReset, 1).tell(EstopMode.Armed).wait(2_000);
  tripped.tell(EstopMode.Tripped, 6).tell(EstopMode.WaitReset, 6);
  expect(tripped.pressed).toEqual(["reset", "reset"]);
  tripped.tell(EstopMode.Armed);
  tripped.facts.isStarting = false; // the run moves: a trip is a trip
  tripped.wait(2_000).tell(EstopMode.Tripped, 6).tell(EstopMode.WaitReset, 6).wait(5_000);
  expect(tripped.pressed.length).toBe(2);

  const attended = new Watched({ kind: "emulated", autoReset: false });
  expect(attended.tell(EstopMode.WaitReset, 1).wait(5_000).pressed).toEqual([]);
});

test("the drives of an emulated board are told when they gain and lose power", () => {
  const watched = new Watched({ kind: "emulated", autoReset: false }).tell(EstopMode.Armed);
  watched.facts.isActive = true;
  watched.tell(EstopMode.Armed).tell(EstopMode.Armed);
  watched.facts.isActive = false;
  watched.tell(EstopMode.Armed);
  expect(watched.told).toEqual([
    "e-stop emulated: ARMED",
    "e-stop emulated: drives have power",
    "e-stop emulated: drives lost power",
  ]);
});

test("SS1-t must bear the slowest joint's stop and two periods", () => {
  const robot = loadRobot("so101");
  const [joint] = robot.joints;
  const slow = {
    ...joint!,
    velocityRadPerSMax: 2,
    stop: { ...joint!.stop, accelerationRadPerS2: 4 },
  };
  expect(stopNsMinOf({ ...robot, joints: [joint!, slow] })).toBe(510_000_000 as never);
  // An emulated board is built for its robot, as a real one must be.
  const stopMs = [0, 299, 300.5, 324, 20_000].map((ms) => emulatedStopMs(milliseconds(ms)));
  expect(stopMs).toEqual([300, 300, 301, 324, 10_000]);
  expect(emulatedStopMs(stopNsMinOf(loadRobot("ur5e")))).toBe(325);
});
