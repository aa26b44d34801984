// Which threads of this process the kernel schedules how, read from /proc. It answers one question:
// is any thread real-time that was not declared so? A compiler thread that inherited FIFO 80 would
// delay the tick that it should serve.

import { readdirSync, readFileSync } from "node:fs";

export type SchedulingPolicy = "OTHER" | "FIFO" | "RR" | "BATCH" | "IDLE" | "DEADLINE" | "UNKNOWN";

/** One thread: its kernel name, policy and real-time priority, which is 0 for a normal thread. */
export type ThreadFacts = {
  readonly name: string;
  readonly policy: SchedulingPolicy;
  readonly priority: number;
};

const POLICIES: readonly SchedulingPolicy[] = [
  "OTHER",
  "FIFO",
  "RR",
  "BATCH",
  "UNKNOWN",
  "IDLE",
  "DEADLINE",
];

const REALTIME_POLICIES: readonly SchedulingPolicy[] = ["FIFO", "RR", "DEADLINE"];

// Field numbers of proc_pid_stat(5), counted from field 3, the first after the name.
const PRIORITY_FIELD = 40 - 3;
const POLICY_FIELD = 41 - 3;

/** Every thread of the process. Reads files and allocates: never for a real-time thread. */
export function scanThreads(procRoot = "/proc"): ThreadFacts[] {
  const folder = `${procRoot}/self/task`;
  const threads: ThreadFacts[] = [];
  for (const id of readdirSync(folder)) {
    const stat = readStat(`${folder}/${id}/stat`);
    if (stat !== undefined) threads.push(parseStat(stat));
  }
  return threads;
}

/** The threads that are real-time though their name is not among the declared ones. */
export function undeclaredRealtime(
  threads: readonly ThreadFacts[],
  declaredNames: readonly string[],
): ThreadFacts[] {
  const isRealtime = ({ policy }: ThreadFacts) => REALTIME_POLICIES.includes(policy);
  return threads.filter((thread) => isRealtime(thread) && !declaredNames.includes(thread.name));
}

/** Undefined for a thread that ended since the folder was listed. */
function readStat(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ENOENT" || code === "ESRCH") return undefined;
    throw error;
  }
}

function parseStat(stat: string): ThreadFacts {
  // A name may hold spaces and brackets itself, so it ends at the last bracket.
  const nameEnd = stat.lastIndexOf(")");
  const fields = stat.slice(nameEnd + 2).split(" ");
  return {
    name: stat.slice(stat.indexOf("(") + 1, nameEnd),
    policy: POLICIES[Number(fields[POLICY_FIELD])] ?? "UNKNOWN",
    priority: Number(fields[PRIORITY_FIELD]),
  };
}
