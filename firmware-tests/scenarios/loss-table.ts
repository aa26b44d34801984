// The loss table as text, drawn from the rows that the scenarios run. Rows that need a process of
// their own are made elsewhere and join here.

import { KILL_ROWS } from "../kill-rows.ts";
import { estopBlips, estopLosses } from "./estop-losses.ts";
import type { EstopBlip, EstopLoss } from "./estop-losses.ts";
import { linkLosses, STOP_AFTER_MS } from "./link-losses.ts";
import type { LinkLoss } from "./link-losses.ts";
import type { LossRow } from "./loss-row.ts";
import { losses, PARK_WITHIN_MS } from "./losses.ts";
import type { Detection, Loss, Rearm } from "./loss.ts";

const TICK_MS = 5;

const rearmTexts: Readonly<Record<Rearm, string>> = {
  nobody: "nobody",
  nobody_then_person: "nobody; after SAFE_STOP a person: reset, then start",
  person: "a person: reset, then start",
  restart: "a person, after a restart",
};

function detectedBy(detect: Detection): string {
  switch (detect.of) {
    case "nothing":
      return `nothing: ${detect.why}`;
    case "repair":
      return "the gate's repairs";
    case "policy":
      return `policy side, \`${detect.name}\``;
    case "evidence":
      return `action buffer, \`${detect.name}\``;
    case "reason":
    case "fault":
      return `\`${detect.name}\``;
  }
}

/** `SAFE_STOP after 200 ms, FAULT_LATCHED after 700 ms`; empty for a robot that only waits. */
function stopsText({ pathMs }: Loss): string {
  const stops = pathMs.filter(([mode]) => mode === "SAFE_STOP" || mode === "FAULT_LATCHED");
  return stops
    .map(([mode, ms]) => (ms === 0 ? `${mode} at once` : `${mode} after ${ms} ms`))
    .join(", ");
}

function withinText({ detect, provoke, withinMs }: Loss): string {
  if (detect.of === "nothing") return "–";
  if (provoke.by === "pacer" && withinMs === 0) return "that very tick";
  return withinMs < TICK_MS ? `${withinMs} ms: the next tick` : `${withinMs} ms`;
}

function coreRow(loss: Loss): LossRow {
  const { id, cause, detect, does, rearm, holdAfterMs, armFalls = "no" } = loss;
  const holds = holdAfterMs > 0 && Number.isFinite(holdAfterMs) ? ` after ${holdAfterMs} ms` : "";
  const stops = stopsText(loss);
  return {
    id,
    cause,
    detectedBy: detectedBy(detect),
    within: withinText(loss),
    robotDoes: `${does}${holds}${stops === "" ? "" : `; ${stops}`}`,
    armFalls,
    rearm: rearmTexts[rearm],
    proof: "firmware-tests/scenarios/losses.test.ts",
  };
}

function estopRow(loss: EstopLoss): LossRow {
  const { id, cause, chipSays, stopWithinMs, openWithinMs, does, isForGood } = loss;
  const byReset = "a person: the chip's reset after its proof test, then reset, then start";
  return {
    id,
    cause,
    detectedBy:
      isForGood === true
        ? `host, \`gone\`; chip, \`${chipSays}\``
        : `chip, \`${chipSays}\`, then the host`,
    within: `host ${stopWithinMs} ms, outputs ${openWithinMs} ms`,
    robotDoes: does,
    armFalls: "with `power_cut: falls`",
    rearm: isForGood === true ? rearmTexts.restart : byReset,
    proof: "firmware-tests/scenarios/estop-losses.test.ts",
  };
}

function blipRow({ id, cause, detectedBy: by, countedWithinMs }: EstopBlip): LossRow {
  return {
    id,
    cause,
    detectedBy: by,
    within: `${countedWithinMs} ms`,
    robotDoes: "nothing changes; it is counted",
    armFalls: "no",
    rearm: rearmTexts.nobody,
    proof: "firmware-tests/scenarios/estop-losses.test.ts",
  };
}

function linkRow(loss: LinkLoss): LossRow {
  const { id, cause, says, knownWithinMs, noActionWithinMs } = loss;
  const within = knownWithinMs === 0 ? "at once" : `${knownWithinMs} ms`;
  return {
    id,
    cause,
    detectedBy: `policy link, \`${says}\`; then \`no_action\``,
    within: `link ${within}, \`no_action\` ${noActionWithinMs} ms`,
    robotDoes: `follows what was decided, then holds; SAFE_STOP ${STOP_AFTER_MS} ms later`,
    armFalls: "no",
    rearm: rearmTexts.nobody_then_person,
    proof: "firmware-tests/scenarios/link-losses.test.ts",
  };
}

/** What the core neither notices nor has to. */
const outsideRows: readonly LossRow[] = [
  {
    id: "clock-stepped",
    cause: "wall clock steps, forward or back",
    detectedBy: "nothing: no tick reads it",
    within: "–",
    robotDoes: "goes on; only labels change",
    armFalls: "no",
    rearm: "nobody",
    proof: "firmware-tests/wall-clock.test.ts",
  },
  {
    id: "page-gone",
    cause: "operator page gone",
    detectedBy: "nothing: a stop has other ways",
    within: "–",
    robotDoes: "goes on; keys and `holdfast stop` stop it",
    armFalls: "no",
    rearm: "nobody",
    proof: "firmware-tests/scenarios/outside.test.ts",
  },
];

/** Rows proved by tests that need threads in a made-up machine, or a process of their own. */
const otherRows: readonly LossRow[] = [
  {
    id: "park",
    cause: "the end of a run, `stop --park`",
    detectedBy: "cue",
    within: `${PARK_WITHIN_MS} ms: the next tick`,
    robotDoes: "with `power_cut: falls` parks within 5 s and lets go; else brakes and holds",
    armFalls: "from its rest pose, by its droop at most",
    rearm: rearmTexts.person,
    proof: "firmware-tests/parking.test.ts",
  },
  ...KILL_ROWS.map(
    ({ id, cause, detectedBy: by, withinMs, robotDoes, armFalls, rearm }): LossRow => ({
      id,
      cause: `${cause}, e-stop armed`,
      detectedBy: by,
      within: typeof withinMs === "number" ? `${withinMs} ms of chip time` : withinMs,
      robotDoes,
      armFalls: armFalls === "yes" ? "with `power_cut: falls`" : armFalls,
      rearm,
      proof: "firmware-tests/kill-matrix.test.ts",
    }),
  ),
];

export const lossRows: readonly LossRow[] = [
  ...losses.map(coreRow),
  ...linkLosses.map(linkRow),
  ...estopLosses.map(estopRow),
  ...estopBlips.map(blipRow),
  ...outsideRows,
  ...otherRows,
];

/** The table as Markdown. */
export function lossTable(): string {
  const lines = [
    "| cause | detected by | within | robot does | arm falls | who re-arms |",
    "|---|---|---|---|---|---|",
  ];
  for (const { cause, detectedBy: by, within, robotDoes, armFalls, rearm } of lossRows) {
    lines.push(`| ${[cause, by, within, robotDoes, armFalls, rearm].join(" | ")} |`);
  }
  return lines.join("\n");
}
