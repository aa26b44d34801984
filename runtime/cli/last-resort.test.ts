// The end of the process, in a process of its own: one that nobody here asked for while a run is
// not over is a failure that says so.

import { expect, test } from "bun:test";

const PROGRAM_MS_MAX = 30_000;

async function endOf(body: string): Promise<{ exitCode: number; err: string }> {
  const program = `
    import { ProcessGuard } from "${import.meta.dir}/last-resort.ts";
    import { StreamOut } from "${import.meta.dir}/output.ts";
    const guard = new ProcessGuard(undefined, new StreamOut(process.stderr));
    ${body}`;
  const child = Bun.spawn([process.execPath, "-e", program], { stderr: "pipe" });
  const err = await child.stderr.text();
  return { exitCode: await child.exited, err };
}

test(
  "an exit from inside a run is a failure, and one after it or on purpose is not",
  async () => {
    const [inside, after, asked, bug] = await Promise.all([
      endOf("await guard.watch(async () => process.exit(0));"),
      endOf("await guard.watch(async () => 1); process.exit(0);"),
      endOf("await guard.watch(async () => guard.leave(130));"),
      endOf('await guard.watch(async () => { throw new Error("ours"); });'),
    ]);
    expect([inside, after, asked]).toEqual([
      { exitCode: 1, err: expect.stringContaining("ended from inside the run") },
      { exitCode: 0, err: "" },
      { exitCode: 130, err: "" },
    ]);
    expect(bug).toEqual({ exitCode: 70, err: expect.stringContaining("Error: ours\n    at ") });
    expect(bug.err).not.toContain("inside the run");
  },
  PROGRAM_MS_MAX,
);
