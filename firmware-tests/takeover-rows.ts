// The row that each decision of a run began with, read off the records of its ticks: 0 for one
// that began as it came, more for one that skips what had passed. As a program it runs in real time
// until it has seen some, and prints them.

import type { RunHooks } from "../runtime/cli/run-hooks.ts";
import { runOptions } from "../runtime/cli/run-command.ts";
import type { RunHandle } from "../runtime/cli/run-handle.ts";
import { runStreaming } from "../runtime/cli/run-streaming.ts";
import { CommandKind } from "../runtime/contracts/command.ts";
import { TickSlot } from "../runtime/contracts/tick-record.ts";

/** Enough to see that it is no chance. */
const ENOUGH = 5;

export class TakeoverRows {
  readonly rows: number[] = [];
  #seen = "";

  see(record: Float64Array): void {
    const decision = `${record[TickSlot.epoch]} ${record[TickSlot.seq]}`;
    if (record[TickSlot.kind] !== CommandKind.Motion || decision === this.#seen) return;
    this.#seen = decision;
    this.rows.push(record[TickSlot.row]!);
  }
}

if (import.meta.main) {
  const [policy = ""] = process.argv.slice(2);
  const seen = new TakeoverRows();
  let handle: RunHandle | undefined;
  const hooks: RunHooks = {
    onHandle: (given) => (handle = given),
    endAsked: new Promise(() => undefined),
    note: (text) => console.error(text),
    ticked: (record) => {
      seen.see(record);
      if (seen.rows.length >= ENOUGH) handle?.quit();
    },
    changed: () => undefined,
  };
  await runStreaming(runOptions("so101", { policy, task: "none" }), hooks);
  console.log(JSON.stringify(seen.rows.slice(0, ENOUGH)));
  process.exit(0);
}
