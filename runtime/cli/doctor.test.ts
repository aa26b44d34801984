// The doctor on made-up machines: fixture trees stand for /proc, /sys and /dev. One machine where
// all is well, one where nothing is, and the single answers whose wording a person depends on.

import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { isFifo } from "../../hal/ffi/scheduling.ts";
import packageFacts from "../../package.json";
import { BUN_VERSION_PINNED, doctor, formatDoctor, LIMITS_REMEDY } from "./doctor.ts";
import type { DoctorContext, DoctorProbes } from "./doctor.ts";

const root = mkdtempSync(join(tmpdir(), "holdfast-doctor-"));
afterAll(() => rmSync(root, { recursive: true }));

let machineCount = 0;

/** A machine with these files, and rights as in `probes`. */
function machine(files: Record<string, string>, probes: Partial<DoctorProbes> = {}): DoctorContext {
  machineCount += 1;
  const folder = join(root, String(machineCount));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return {
    procRoot: join(folder, "proc"),
    sysRoot: join(folder, "sys"),
    devRoot: join(folder, "dev"),
    stateFolder: "/state",
    probes: {
      realtime: { granted: true, refusal: "" },
      memoryLock: { granted: true, refusal: "" },
      memlockSizeBytesMax: Infinity,
      isRoot: false,
      bunVersion: BUN_VERSION_PINNED,
      architecture: "x64",
      freeSizeBytes: () => 50 * 1024 ** 3,
      ...probes,
    },
  };
}

const cores = (count: number, flags: string) =>
  Array.from({ length: count }, (_, cpu) => `processor\t: ${cpu}\nflags\t\t: ${flags}\n`).join(
    "\n",
  );

const goodFiles = {
  "proc/cpuinfo": cores(4, "fpu avx avx2 sse4_2"),
  "proc/sys/kernel/sched_rt_runtime_us": "950000\n",
  "proc/sys/kernel/sched_rt_period_us": "1000000\n",
  "proc/version": "Linux version 6.12.1-rt #1 SMP PREEMPT_RT Debian\n",
  "proc/swaps": "Filename Type Size Used Priority\n",
  "proc/net/tcp": "  sl  local_address rem_address st\n   0: 0100007F:1F91 00000000:0000 0A\n",
  "proc/1/comm": "systemd\n",
  "sys/devices/system/cpu/isolated": "3\n",
  "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance\n",
  "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
  "dev/serial/by-id/usb-Acme_Bus-if00": "",
  "dev/ttyACM0": "",
  "dev/cpu_dma_latency": "",
};

const badFiles = {
  "proc/cpuinfo": cores(1, "fpu avx sse4_2"),
  "proc/sys/kernel/sched_rt_runtime_us": "0\n",
  "proc/sys/kernel/sched_rt_period_us": "1000000\n",
  "proc/version": "Linux version 6.1.0 #1 SMP Debian\n",
  "proc/swaps": "Filename Type Size Used Priority\n/dev/zram0 partition 1 0 5\n",
  "proc/net/tcp": "  sl\n",
  "proc/net/tcp6": "  sl\n   0: 00000000000000000000000000000000:1F90 00000000:0000 0A\n",
  "proc/10/comm": "brltty\n",
  "proc/11/comm": "ModemManager\n",
  "sys/devices/system/cpu/isolated": "\n",
  "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n",
  "sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet\n",
};

const refused = (refusal: string) => ({ granted: false, refusal });

test("a machine where all is well has only ok lines, and no remedy", () => {
  const lines = doctor(machine(goodFiles));
  expect(lines.map(({ verdict, fact, remedy }) => [verdict, fact, remedy])).toEqual(
    [
      "SCHED_FIFO 80 granted",
      "the memory lock is granted",
      "950000 of every 1000000 us; a thread that sleeps never meets it",
      "4 cores",
      "isolated: 3",
      "avx2 is there",
      "performance",
      "a run may keep the CPUs from idling",
      "PREEMPT_RT",
      "tsc",
      "none",
      "usb-Acme_Bus-if00",
      "nothing else takes adapters",
      "free",
      "50.0 GiB free for /state",
      BUN_VERSION_PINNED,
    ].map((fact) => ["ok", fact, ""]),
  );
});

test("a machine where nothing is well has no ok line but the absent serial ports", () => {
  const lines = doctor(
    machine(badFiles, {
      realtime: refused("EPERM"),
      memoryLock: refused("ENOMEM"),
      memlockSizeBytesMax: 8_388_608,
      bunVersion: "1.0.0",
      freeSizeBytes: () => 1024 ** 3,
    }),
  );
  expect(lines.map(({ check, verdict }) => `${check}: ${verdict}`)).toEqual([
    "real-time priority: fail",
    "memory lock: fail",
    "real-time throttling: fail",
    "cores: warn",
    "isolated cores: warn",
    "CPU instructions: warn",
    "frequency governor: warn",
    "CPU idle: warn",
    "kernel preemption: warn",
    "clock source: warn",
    "swap: warn",
    "serial ports: ok",
    "serial port users: warn",
    "port 8080: warn",
    "disk: warn",
    "Bun: warn",
  ]);
  const withoutRemedy = lines.filter(
    ({ verdict, remedy }) => (remedy === "") !== (verdict === "ok"),
  );
  expect(withoutRemedy).toEqual([]);
});

const line = (context: DoctorContext, check: string) =>
  doctor(context).find((candidate) => candidate.check === check);

test("a refused memory lock names the ENOMEM trap and the lines to paste", () => {
  const rights = { memoryLock: refused("ENOMEM"), memlockSizeBytesMax: 8_388_608 };
  expect(line(machine(goodFiles, rights), "memory lock")).toEqual({
    check: "memory lock",
    verdict: "fail",
    fact: "the memory lock is refused: ENOMEM; memlock is 8388608 bytes, and no finite one will do",
    remedy: LIMITS_REMEDY,
  });
  for (const part of ["rtprio 95", "memlock unlimited", "limits.d", "log out"]) {
    expect(LIMITS_REMEDY).toContain(part);
  }
});

test("real-time refused to root names CONFIG_RT_GROUP_SCHED where the kernel shows it", () => {
  const files = { ...goodFiles, "sys/fs/cgroup/cpu/cpu.rt_runtime_us": "0\n" };
  const rights = { realtime: refused("EPERM"), isRoot: true };
  expect(line(machine(files, rights), "real-time priority")).toEqual({
    check: "real-time priority",
    verdict: "fail",
    fact: "SCHED_FIFO 80 refused: EPERM, and CONFIG_RT_GROUP_SCHED refuses it even to root",
    remedy: "sudo sysctl -w kernel.sched_rt_runtime_us=-1",
  });
});

test("a serial port that this user cannot open asks for the dialout group", () => {
  const context = machine(goodFiles, {});
  const present = line(context, "serial ports");
  // A dangling link can be opened by nobody, not even by root.
  const denied = machine({ "dev/null": "" });
  symlinkSync("/nonexistent/port", join(denied.devRoot, "ttyUSB3"));
  expect([present?.verdict, line(denied, "serial ports")]).toEqual([
    "ok",
    {
      check: "serial ports",
      verdict: "fail",
      fact: "ttyUSB3: permission denied",
      remedy: 'sudo usermod -aG dialout "$USER"\n# then log out and in again',
    },
  ]);
});

test("arm64 needs no avx2, locked memory keeps swap harmless, a full disk fails", () => {
  const context = machine(badFiles, { architecture: "arm64", freeSizeBytes: () => 1_000_000 });
  const checks = ["CPU instructions", "swap", "disk"];
  expect(checks.map((check) => line(context, check)?.verdict)).toEqual(["ok", "ok", "fail"]);
});

test("a machine that shows none of the files still gets a line for every check", () => {
  const lines = doctor(machine({}));
  expect(lines.map((each) => each.check)).toEqual(
    doctor(machine(goodFiles)).map((each) => each.check),
  );
});

test("formatDoctor aligns the facts and indents each remedy under its line", () => {
  const text = formatDoctor([
    { check: "cores", verdict: "ok", fact: "4 cores", remedy: "" },
    { check: "memory lock", verdict: "fail", fact: "refused", remedy: "first\nsecond" },
  ]);
  expect(text.split("\n")).toEqual([
    "ok    cores        4 cores",
    "fail  memory lock  refused",
    "        first",
    "        second",
  ]);
});

test("this machine gets a whole answer, and the rights that were tried are given back", () => {
  const lines = doctor();
  expect([lines.length, isFifo()]).toEqual([16, false]);
});

test("the pinned Bun is the one that the package names", () => {
  expect(packageFacts.packageManager).toBe(`bun@${BUN_VERSION_PINNED}`);
});
