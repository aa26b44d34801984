// holdfast doctor: what this machine grants a robot runtime, one line per fact, with the remedy
// ready to paste. The checks are a table; each reads /proc, /sys and /dev or the answer of a probe.
//
// It changes nothing: real-time priority and memory lock are tried for a moment and given back.
// `fail` means that hardware will not be armed; `warn` means that it will run worse than it could.

import { join } from "node:path";
import * as scheduling from "../../hal/ffi/scheduling.ts";
import type { Grant } from "../../hal/ffi/scheduling.ts";
import { stateFolder } from "../workers/state-folder.ts";
import {
  cpuBlocks,
  firstLine,
  freeSizeBytes,
  hasGroupScheduling,
  isUsable,
  list,
  read,
} from "./machine-files.ts";

export type Verdict = "ok" | "warn" | "fail";

/** One fact. `remedy` is empty when nothing needs to be done. */
export type DoctorLine = {
  readonly check: string;
  readonly verdict: Verdict;
  readonly fact: string;
  readonly remedy: string;
};

/** What the machine said when it was asked for its rights. */
export type DoctorProbes = {
  readonly realtime: Grant;
  readonly memoryLock: Grant;
  readonly memlockSizeBytesMax: number;
  readonly isRoot: boolean;
  readonly bunVersion: string;
  readonly architecture: string;
  readonly freeSizeBytes: (folder: string) => number;
};

/** Where the checks look. Tests put fixture trees here. */
export type DoctorContext = {
  readonly procRoot: string;
  readonly sysRoot: string;
  readonly devRoot: string;
  readonly stateFolder: string;
  readonly probes: DoctorProbes;
};

/** The Bun that timing, collector and FFI were measured on; `package.json` names the same. */
export const BUN_VERSION_PINNED = "1.4.5";

/** The lines that give a plain user real-time priority and a memory lock. */
export const LIMITS_REMEDY = [
  `printf '%s - rtprio 95\\n%s - memlock unlimited\\n' "$USER" "$USER" |`,
  "  sudo tee /etc/security/limits.d/holdfast.conf",
  "# then log out and in again",
].join("\n");

const GROUP_SCHED_REMEDY = "sudo sysctl -w kernel.sched_rt_runtime_us=-1";
const FIFO_PRIORITY = 80; // what the control thread asks for
const GIB = 1024 ** 3;
const FREE_SIZE_BYTES_MIN = 0.1 * GIB; // below it no flight record fits
const FREE_SIZE_BYTES_WANTED = 2 * GIB; // a day of records without images
const PORT = 8080;
const GOOD_CLOCKSOURCES = ["tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page"];

type Check = {
  readonly name: string;
  readonly judge: (context: DoctorContext) => Omit<DoctorLine, "check">;
};

const ok = (fact: string) => ({ verdict: "ok" as const, fact, remedy: "" });
const warn = (fact: string, remedy: string) => ({ verdict: "warn" as const, fact, remedy });
const fail = (fact: string, remedy: string) => ({ verdict: "fail" as const, fact, remedy });

const checks: readonly Check[] = [
  { name: "real-time priority", judge: judgeRealtime },
  { name: "memory lock", judge: judgeMemoryLock },
  { name: "real-time throttling", judge: judgeThrottling },
  { name: "cores", judge: judgeCores },
  { name: "isolated cores", judge: judgeIsolated },
  { name: "CPU instructions", judge: judgeInstructions },
  { name: "frequency governor", judge: judgeGovernor },
  { name: "CPU idle", judge: judgeIdle },
  { name: "kernel preemption", judge: judgePreemption },
  { name: "clock source", judge: judgeClocksource },
  { name: "swap", judge: judgeSwap },
  { name: "serial ports", judge: judgeSerialPorts },
  { name: "serial port users", judge: judgeSerialUsers },
  { name: `port ${PORT}`, judge: judgePort },
  { name: "disk", judge: judgeDisk },
  { name: "Bun", judge: judgeBun },
];

/** Runs every check. Without a context it looks at this machine. */
export function doctor(context: DoctorContext = machineContext()): DoctorLine[] {
  return checks.map(({ name, judge }) => ({ check: name, ...judge(context) }));
}

/** The lines as a person reads them, remedies indented under their fact. */
export function formatDoctor(lines: readonly DoctorLine[]): string {
  const width = Math.max(...lines.map((line) => line.check.length));
  const text = lines.map(({ check, verdict, fact, remedy }) => {
    const head = `${verdict.padEnd(4)}  ${check.padEnd(width)}  ${fact}`;
    return remedy === "" ? head : `${head}\n${remedy.replace(/^/gm, "        ")}`;
  });
  return text.join("\n");
}

/** This machine, with its rights tried on the calling thread and given back at once. */
export function machineContext(): DoctorContext {
  return {
    procRoot: "/proc",
    sysRoot: "/sys",
    devRoot: "/dev",
    stateFolder: stateFolder(Bun.env),
    probes: {
      realtime: tryRealtime(),
      memoryLock: tryMemoryLock(),
      memlockSizeBytesMax: scheduling.memlockSizeBytesMax(),
      isRoot: process.getuid?.() === 0,
      bunVersion: Bun.version,
      architecture: process.arch,
      freeSizeBytes,
    },
  };
}

function tryRealtime(): Grant {
  const answer = scheduling.setFifo(FIFO_PRIORITY);
  if (answer.granted) scheduling.setNormal();
  return answer;
}

function tryMemoryLock(): Grant {
  const answer = scheduling.lockMemory();
  if (answer.granted) scheduling.unlockMemory();
  return answer;
}

function judgeRealtime({ probes, sysRoot }: DoctorContext) {
  const { granted, refusal } = probes.realtime;
  if (granted) return ok(`SCHED_FIFO ${FIFO_PRIORITY} granted`);
  const fact = `SCHED_FIFO ${FIFO_PRIORITY} refused: ${refusal}`;
  if (probes.isRoot) {
    const why = hasGroupScheduling(sysRoot) ? "CONFIG_RT_GROUP_SCHED refuses" : "something refuses";
    return fail(`${fact}, and ${why} it even to root`, GROUP_SCHED_REMEDY);
  }
  return fail(fact, LIMITS_REMEDY);
}

function judgeMemoryLock({ probes }: DoctorContext) {
  const { granted, refusal } = probes.memoryLock;
  if (granted) return ok("the memory lock is granted");
  const limit = probes.memlockSizeBytesMax;
  if (!Number.isFinite(limit)) return fail(`the memory lock is refused: ${refusal}`, LIMITS_REMEDY);
  // The kernel counts address space, and Bun reserves gigabytes of it: a larger number is no cure.
  const fact = `the memory lock is refused: ${refusal}; memlock is ${limit} bytes`;
  return fail(`${fact}, and no finite one will do`, LIMITS_REMEDY);
}

function judgeThrottling({ procRoot, sysRoot }: DoctorContext) {
  const runtimeUs = Number(firstLine(procRoot, "sys/kernel/sched_rt_runtime_us") ?? Number.NaN);
  const periodUs = Number(firstLine(procRoot, "sys/kernel/sched_rt_period_us") ?? Number.NaN);
  if (Number.isNaN(runtimeUs)) return ok("the kernel names no limit");
  if (runtimeUs === 0) {
    return fail("sched_rt_runtime_us is 0: no real-time thread may run", GROUP_SCHED_REMEDY);
  }
  const group = hasGroupScheduling(sysRoot) ? "; CONFIG_RT_GROUP_SCHED is on" : "";
  if (runtimeUs < 0) return ok(`no limit${group}`);
  return ok(`${runtimeUs} of every ${periodUs} us; a thread that sleeps never meets it${group}`);
}

function judgeCores({ procRoot }: DoctorContext) {
  const count = cpuBlocks(procRoot).length;
  if (count >= 4) return ok(`${count} cores`);
  const fact = `${count} ${count === 1 ? "core" : "cores"}: a policy may delay the control thread`;
  return warn(fact, "# run the policy on another machine, or use 4 cores");
}

function judgeIsolated({ procRoot, sysRoot }: DoctorContext) {
  const isolated = firstLine(sysRoot, "devices/system/cpu/isolated") ?? "";
  if (isolated !== "") return ok(`isolated: ${isolated}`);
  const last = Math.max(1, cpuBlocks(procRoot).length - 1);
  const remedy = `# on hardware: add isolcpus=${last} nohz_full=${last} to the kernel command line`;
  return warn("no core is isolated; fine in simulation", remedy);
}

function judgeInstructions({ procRoot, probes }: DoctorContext) {
  if (probes.architecture !== "x64") return ok(`${probes.architecture} needs no special ones`);
  const flags = cpuBlocks(procRoot)[0] ?? "";
  if (/\bavx2\b/.test(flags)) return ok("avx2 is there");
  return warn("no avx2: only the baseline build runs here", "scripts/build --baseline");
}

function judgeGovernor({ sysRoot }: DoctorContext) {
  const folder = "devices/system/cpu";
  const governors = new Set<string>();
  for (const cpu of list(join(sysRoot, folder))) {
    const governor = firstLine(sysRoot, `${folder}/${cpu}/cpufreq/scaling_governor`);
    if (governor !== undefined) governors.add(governor);
  }
  const names = [...governors].join(", ");
  if (governors.size === 0) return ok("the machine shows no frequency scaling");
  if (names === "performance") return ok(names);
  const files = "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor";
  return warn(
    `${names}: a clock that rises late delays the tick`,
    `echo performance | sudo tee ${files}`,
  );
}

function judgeIdle({ devRoot }: DoctorContext) {
  const path = join(devRoot, "cpu_dma_latency");
  if (isUsable(path)) return ok("a run may keep the CPUs from idling");
  const rule = 'KERNEL=="cpu_dma_latency", GROUP="dialout", MODE="0660"';
  return warn(
    "a run may not keep the CPUs from idling: each tick wakes later by what leaving idle takes",
    [
      `echo '${rule}' |`,
      "  sudo tee /etc/udev/rules.d/90-holdfast.rules && sudo udevadm trigger",
      "# in a container: --device /dev/cpu_dma_latency",
    ].join("\n"),
  );
}

function judgePreemption({ procRoot, sysRoot }: DoctorContext) {
  const version = firstLine(procRoot, "version") ?? "";
  const model = /\bPREEMPT(_[A-Z]+)?\b/.exec(version)?.[0] ?? "no preemption";
  if (firstLine(sysRoot, "kernel/realtime") === "1" || model === "PREEMPT_RT") {
    return ok("PREEMPT_RT");
  }
  const remedy = "# on hardware: sudo apt-get install linux-image-rt-amd64  # or -arm64";
  return warn(`${model}; fine in simulation`, remedy);
}

function judgeClocksource({ sysRoot }: DoctorContext) {
  const folder = "devices/system/clocksource/clocksource0";
  const source = firstLine(sysRoot, `${folder}/current_clocksource`) ?? "unknown";
  if (GOOD_CLOCKSOURCES.includes(source)) return ok(source);
  const remedy = `echo tsc | sudo tee /sys/${folder}/current_clocksource`;
  return warn(`${source}: reading the clock may take microseconds`, remedy);
}

function judgeSwap({ procRoot, probes }: DoctorContext) {
  const lines = (read(procRoot, "swaps") ?? "").trim().split("\n").slice(1);
  if (lines.length === 0) return ok("none");
  const names = lines.map((line) => line.split(/\s+/)[0]).join(", ");
  if (probes.memoryLock.granted) return ok(`${names}; locked memory stays out of it`);
  return warn(`${names}: a page read back from it stops the tick`, "sudo swapoff -a");
}

function judgeSerialPorts({ devRoot }: DoctorContext) {
  const named = list(join(devRoot, "serial/by-id"));
  const ports = list(devRoot).filter((name) => /^tty(USB|ACM)\d+$/.test(name));
  if (ports.length === 0) return ok("none; simulation needs none");
  const closed = ports.filter((name) => !isUsable(join(devRoot, name)));
  const names = (named.length > 0 ? named : ports).join(", ");
  if (closed.length === 0) return ok(names);
  const remedy = 'sudo usermod -aG dialout "$USER"\n# then log out and in again';
  return fail(`${closed.join(", ")}: permission denied`, remedy);
}

const SERIAL_THIEVES: Readonly<Record<string, string>> = {
  brltty: "sudo apt-get remove brltty",
  ModemManager: "sudo systemctl disable --now ModemManager",
};

function judgeSerialUsers({ procRoot }: DoctorContext) {
  const running = new Set<string>();
  for (const entry of list(procRoot)) {
    const name = /^\d+$/.test(entry) ? firstLine(procRoot, `${entry}/comm`) : undefined;
    if (name !== undefined && name in SERIAL_THIEVES) running.add(name);
  }
  if (running.size === 0) return ok("nothing else takes adapters");
  const names = [...running].toSorted();
  const remedy = names.map((name) => SERIAL_THIEVES[name]).join("\n");
  return warn(`${names.join(" and ")} may take a serial adapter first`, remedy);
}

function judgePort({ procRoot }: DoctorContext) {
  const isListening = ["net/tcp", "net/tcp6"].some((file) => {
    const rows = (read(procRoot, file) ?? "").split("\n").slice(1);
    return rows.some((row) => {
      const [, local, , state] = row.trim().split(/\s+/);
      return state === "0A" && local?.endsWith(`:${PORT.toString(16).toUpperCase()}`) === true;
    });
  });
  if (!isListening) return ok("free");
  return warn(
    "taken: the page will use the next free one and print it",
    `ss -ltnp sport = :${PORT}`,
  );
}

function judgeDisk({ stateFolder, probes }: DoctorContext) {
  const freeBytes = probes.freeSizeBytes(stateFolder);
  const fact = `${(freeBytes / GIB).toFixed(1)} GiB free for ${stateFolder}`;
  const remedy = `du -sh ${stateFolder}/holdfast/*  # remove old recordings`;
  if (freeBytes < FREE_SIZE_BYTES_MIN) return fail(fact, remedy);
  return freeBytes < FREE_SIZE_BYTES_WANTED ? warn(fact, remedy) : ok(fact);
}

function judgeBun({ probes }: DoctorContext) {
  if (probes.bunVersion === BUN_VERSION_PINNED) return ok(probes.bunVersion);
  const fact = `${probes.bunVersion}, but everything was measured on ${BUN_VERSION_PINNED}`;
  return warn(fact, "scripts/run version  # fetches the pinned one into .tools/");
}
