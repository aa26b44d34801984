// The e-stop's core with one line of it broken, compiled for this machine: a chip that ignores
// exactly one of the things that the proof test asks of it. The break is a text that must stand in
// the source once, so a firmware that has changed breaks loudly.

import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { FIRMWARE, FIRMWARE_OUT } from "../firmware-build.ts";

export type Breakage = {
  readonly name: string;
  readonly file: string;
  /** What stands there, and what stands there instead. */
  readonly from: string;
  readonly to: string;
};

const shown = (step: string, from: string): Breakage => ({
  name: `takes the step ${step} for shown`,
  file: "estop.c",
  from,
  to: "return true;",
});

/** Its checks are dead: the step can never be shown. */
const deaf: readonly Breakage[] = [
  {
    name: "takes wrong answers",
    file: "estop_link.c",
    from: "if (answer->answer != estop_answer(question->word, answer->tick_index)) {",
    to: "if (false) {",
  },
  {
    name: "takes corrupt frames",
    file: "estop_frame.c",
    from: "estop_get_u32(frame + CRC_AT) != estop_frame_crc(frame, ESTOP_ANSWER_BYTES)) {",
    to: "false) {",
  },
  {
    name: "takes a burst",
    file: "estop_link.c",
    from: "return is_early(self, now_us) ? ESTOP_VERDICT_EARLY : ESTOP_VERDICT_GOOD;",
    to: "return ESTOP_VERDICT_GOOD;",
  },
  {
    name: "never counts to a trip",
    file: "estop_link.c",
    from: "if (self->fail_count < ESTOP_FAIL_LATCH) { self->fail_count++; }",
    to: "",
  },
  {
    name: "never hears a silence",
    file: "estop_link.c",
    from: "if (!self->beating || now_us - self->last_good_us < silence_us) { return; }",
    to: "return;",
  },
  {
    name: "can't open output A alone",
    file: "estop.c",
    from: "ESTOP_PROOF_CLOSE_A) { return ESTOP_OUT_A; }",
    to: "ESTOP_PROOF_CLOSE_A) { return ESTOP_OUT_BOTH; }",
  },
];

/** It goes on though nothing was shown. */
const hasty: readonly Breakage[] = [
  shown("wrong", "return was_bad(self, ESTOP_VERDICT_WRONG);"),
  shown("corrupt", "return was_bad(self, ESTOP_VERDICT_CORRUPT);"),
  shown("burst", "return was_bad(self, ESTOP_VERDICT_EARLY);"),
  shown("five", "return link->bad_streak >= ESTOP_FAIL_OFF && link->fail_count >= ESTOP_FAIL_OFF;"),
  shown(
    "silence",
    "return !link->beating && now_us - self->proof_us >= us(self->config->silence_ms);",
  ),
  shown("close A", "return back == ESTOP_IN_BACK_A;"),
  shown("close B", "return back == ESTOP_IN_BACK_B;"),
];

export const breakages: readonly Breakage[] = [...deaf, ...hasty];

/** Compiles it once and returns the library's path. */
export function brokenLibrary({ name, file, from, to }: Breakage): string {
  const folder = join(FIRMWARE_OUT, `broken-${name.replaceAll(/\W+/g, "-")}`);
  mkdirSync(folder, { recursive: true });
  cpSync(FIRMWARE, folder, { recursive: true });
  const source = readFileSync(join(FIRMWARE, file), "utf8");
  if (source.split(from).length !== 2) throw new Error(`Cannot break ${file}: no single "${from}"`);
  writeFileSync(join(folder, file), source.replace(from, to));
  const library = join(folder, "libestop.so");
  const core = ["estop", "estop_answer", "estop_crc", "estop_frame", "estop_inputs", "estop_link"];
  const files = ["host_ffi.c", ...core.map((each) => `${each}.c`)];
  const options = ["-std=c99", "-O2", "-shared", "-fPIC", "-o", library];
  const run = Bun.spawnSync(["cc", ...options, ...files], { cwd: folder });
  if (run.exitCode === 0) return library;
  throw new Error(`Cannot compile ${file}: ${run.stderr.toString().trim()}`);
}
