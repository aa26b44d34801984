// Who may import whom, as data. A zone is a folder, or a file at the rim; the first row whose
// prefix fits a path decides. Anything that a row does not allow fails. A new folder gets a row
// here first. Tests are free, except that nothing but a test may import a test.

export type ImportRow = {
  /** A folder, ending with a slash, or one file. */
  readonly prefix: string;
  readonly zone: string;
  /** Zones whose values and types may be imported; "*" for all but scripts and firmware-tests. */
  readonly may: readonly string[];
  /** Zones of which only types may be imported, and which names of them when listed. */
  readonly mayTypes?: Readonly<Record<string, readonly string[] | "any">>;
  /** npm packages; "*" for all. */
  readonly packages: readonly string[];
  /** Platform modules, such as `node:fs`; "*" for all. A pure zone reaches nothing outside. */
  readonly builtins: readonly string[];
};

const PURE = { packages: [], builtins: [] } as const;
const RIM = { may: ["*"], packages: ["*"], builtins: ["*"] } as const;

export const importTable: readonly ImportRow[] = [
  {
    prefix: "runtime/contracts/",
    zone: "contracts",
    may: ["contracts"],
    packages: [],
    builtins: ["node:crypto"], // schema fingerprints
  },
  {
    prefix: "safety/",
    zone: "safety",
    may: ["contracts", "kinematics", "safety"],
    mayTypes: { hal: ["RobotActuator"] },
    ...PURE,
  },
  {
    prefix: "runtime/core/",
    zone: "core",
    may: ["contracts", "core", "safety"],
    mayTypes: { hal: "any" },
    packages: [],
    builtins: ["node:crypto"], // the trace hash
  },
  { prefix: "runtime/kinematics/", zone: "kinematics", may: ["contracts", "kinematics"], ...PURE },
  {
    prefix: "runtime/profile/",
    zone: "profile",
    may: ["contracts", "profile"],
    packages: ["ajv", "yaml"],
    builtins: ["*"],
  },
  { prefix: "runtime/shm/", zone: "shm", may: ["contracts", "shm"], ...PURE },
  {
    prefix: "runtime/awp/",
    zone: "awp",
    may: ["contracts", "awp", "kinematics"],
    packages: ["*"],
    builtins: ["*"],
  },
  {
    prefix: "runtime/lockstep/",
    zone: "lockstep",
    may: ["contracts", "core", "lockstep"],
    mayTypes: { policy: "any", hal: "any", safety: "any" },
    packages: ["*"],
    builtins: ["*"],
  },
  ...["policy", "link", "artifact"].map((name) => ({
    prefix: `runtime/${name}/`,
    zone: "policy",
    may: ["contracts", "policy", "kinematics"],
    packages: ["*"],
    builtins: ["*"],
  })),
  ...["record", "sim"].map((name) => ({
    prefix: `runtime/${name}/`,
    zone: "sim",
    may: ["contracts", "core", "sim", "hal", "safety", "kinematics"],
    packages: ["*"],
    builtins: ["*"],
  })),
  { prefix: "hal/", zone: "hal", may: ["contracts", "hal"], packages: ["*"], builtins: ["*"] },
  {
    prefix: "drivers/",
    zone: "drivers",
    may: ["contracts", "hal"],
    packages: ["*"],
    builtins: ["*"],
  },
  ...["workers/", "cli/", "console/", "compose.ts", "main.ts"].map((name) => ({
    prefix: `runtime/${name}`,
    zone: "rim",
    ...RIM,
  })),
  // The tables of the documents are drawn from what the scenarios run.
  { prefix: "scripts/", zone: "scripts", ...RIM, may: ["*", "firmware-tests"] },
  { prefix: "firmware-tests/", zone: "firmware-tests", ...RIM },
];

/** Zones that import anything and that nothing outside them imports. */
export const nobodyImports: ReadonlySet<string> = new Set(["scripts", "firmware-tests"]);

/** The row of a path, or undefined where none is written yet. */
export function rowOf(path: string): ImportRow | undefined {
  return importTable.find((row) => path.startsWith(row.prefix));
}

/** A driver is a zone of its own: `drivers/feetech/` does not see `drivers/dynamixel/`. */
export function zoneOf(path: string): string {
  const zone = rowOf(path)?.zone ?? "";
  return zone === "drivers" ? path.split("/").slice(0, 2).join("/") : zone;
}
