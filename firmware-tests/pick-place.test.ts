// The scripted expert at its task, in physics, from the command line's own options: over many
// seeds it must bring the cube to the goal and leave it there, with stiff servos, soft ones, and
// soft ones that carry a payload. Success is what the task's judge says: it sees only physics.

import { expect, test } from "bun:test";
import { isLong, noteFigure } from "./figures.ts";
import { lockstepRun } from "./lockstep-run.ts";

const seedCount = isLong ? 100 : 5;
/** Of a hundred; of five, all must succeed. */
const SUCCESS_SHARE_MIN = isLong ? 0.95 : 1;
/** The task's own limit: what has not succeeded by then has failed. */
const EPISODE_S = 30;

test.each(["so101", "so101-servo", "so101-servo-payload"])(
  `%s picks and places on ${seedCount} seeds`,
  async (profile) => {
    const failed: number[] = [];
    const takenS: number[] = [];
    for (let seed = 1; seed <= seedCount; seed += 1) {
      const args = [profile, "--seed", `${seed}`, "--duration", `${EPISODE_S}`];
      // Ends within a batch of ticks after the success, and with it the first episode.
      const report = await lockstepRun(args, (handle) => {
        const look = (): void => {
          if (handle.status().taskSuccess) handle.quit();
          else if (handle.status().sessionS < EPISODE_S - 1) setImmediate(look);
        };
        look();
      });
      if (report.task.success) takenS.push(report.ticks / report.rate_asked_hz);
      else failed.push(seed);
      expect([seed, report.exitCode, report.failure]).toEqual([seed, 0, null]);
    }
    const slowest = takenS.length === 0 ? "none" : `${Math.max(...takenS)} s`;
    const which = failed.length === 0 ? "" : `, failed seeds ${failed.join(" ")}`;
    noteFigure({
      part: "pick_place",
      case: profile,
      measured: `${takenS.length} of ${seedCount}, slowest within ${slowest}${which}`,
      limit: `at least ${SUCCESS_SHARE_MIN * seedCount}`,
      tries: `seeds 1 to ${seedCount}`,
    });
    expect(takenS.length).toBeGreaterThanOrEqual(SUCCESS_SHARE_MIN * seedCount);
  },
  3_600_000,
);
