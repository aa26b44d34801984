// How long a run that has not begun waits for its host, and what a person hears meanwhile, tenth of
// a second by tenth in made-up time.

import { expect, test } from "bun:test";
import type { LinkPhase } from "./edge-link.ts";
import { HostWait } from "./host-wait.ts";

/** Waits in steps of a tenth of a second; what was told, when it ended, and why. */
function waited(
  phaseAt: (s: number) => LinkPhase,
  textAt: (s: number) => string,
  secondsMax = 700,
) {
  const wait = new HostWait();
  const told: string[] = [];
  for (let tenth = 0; tenth <= secondsMax * 10; tenth += 1) {
    const end = wait.end(phaseAt(tenth / 10), tenth * 1e8);
    if (end !== undefined) return { told, end, endS: tenth / 10 };
    const line = wait.line("gpu:7777", textAt(tenth / 10), tenth * 1e8);
    if (line !== undefined) told.push(line);
  }
  return { told, end: undefined, endS: Number.NaN };
}

const line = (text: string, s: number): string =>
  `waiting for the policy host gpu:7777: ${text} (${s} s so far, Ctrl-C or q ends the run)`;

test("nobody there is given up after 10 s, told before", () => {
  const { told, end, endS } = waited(
    () => "waiting",
    () => "cannot connect",
  );
  expect([end, endS]).toEqual(["missing", 10]);
  expect(told).toEqual([line("cannot connect", 2)]);
});

test("a host that loads is waited for, and every 10 s a person hears for how long", () => {
  const { told, end } = waited(
    () => "loading",
    () => "loading",
    35,
  );
  expect(end).toBeUndefined();
  expect(told).toEqual([2, 12, 22, 32].map((s) => line("loading", s)));
});

test("a change is told within 2 s, a flicker no more often than that", () => {
  const { told } = waited(
    () => "warming",
    (s) => (s < 5 ? "loading" : `warming ${Math.floor(s * 10)}`),
    10,
  );
  expect(told).toEqual([line("loading", 2), ...[5, 7, 9].map((s) => line(`warming ${s * 10}`, s))]);
});

test("a host that dies while it loads is given up 10 s after it was last there", () => {
  const { end, endS } = waited(
    (s) => (s <= 100 ? "warming" : "dialing"),
    () => "",
  );
  expect([end, endS]).toEqual(["missing", 110]);
});

test("one that warms up for ever is given up a minute after a host of ours would have", () => {
  const { end, endS } = waited(
    () => "warming",
    () => "",
  );
  expect([end, endS]).toEqual(["tooLong", 660]);
});
