// The parts of the checks that not every machine has: a Debian package, by the program that shows
// it is here, or a right of the kernel's, by trying. As root packages are installed, unless they
// are large; anyone else is told the line to type. What is missing counts as skipped.

import { existsSync } from "node:fs";
import { hasTinyDisk } from "../firmware-tests/tiny-disk.ts";
import { runCommand } from "./child-process.ts";

const INSTALL_SECONDS_MAX = 180;
const PYTHON_PACKAGES = "/usr/lib/python3/dist-packages";
/** Another apt may be at work; it is waited for. */
const LOCK_WAIT = ["-o", "DPkg::Lock::Timeout=60"];

type OptionalPart = {
  readonly name: string;
  /** Present when one of these files is. */
  readonly shownBy: readonly string[];
  readonly packages: readonly string[];
  /** Never installed by itself: only the line to type is told. */
  readonly isLarge?: boolean;
};

const parts: readonly OptionalPart[] = [
  {
    name: "cadence beside cyclictest",
    shownBy: ["/usr/bin/cyclictest"],
    packages: ["rt-tests"],
  },
  {
    name: "arm64 binary under emulation",
    shownBy: ["/usr/bin/qemu-aarch64-static", "/usr/bin/qemu-aarch64"],
    packages: ["qemu-user-static"],
  },
  {
    name: "arm64 binary's system libraries",
    shownBy: ["/usr/aarch64-linux-gnu/lib/libc.so.6"],
    packages: ["libc6-arm64-cross"],
  },
  {
    name: "console page in a browser",
    shownBy: ["/usr/bin/chromium"],
    packages: ["chromium"],
  },
  {
    name: "e-stop core on this machine",
    shownBy: ["/usr/bin/cc"],
    packages: ["gcc", "make", "libc6-dev"],
  },
  {
    name: "e-stop image rebuilt and compared",
    shownBy: ["/usr/bin/avr-gcc"],
    packages: ["gcc-avr", "avr-libc", "binutils-avr"],
  },
  {
    name: "e-stop image of the RP2040 rebuilt and compared",
    shownBy: ["/usr/bin/arm-none-eabi-gcc"],
    packages: ["gcc-arm-none-eabi", "libnewlib-arm-none-eabi"],
    isLarge: true, // over a gigabyte: only whoever changes that image wants it
  },
  {
    name: "e-stop image in simavr",
    shownBy: ["/usr/include/simavr/sim_avr.h"],
    packages: ["libsimavr-dev", "libelf-dev"],
  },
  {
    name: "policy host in Python",
    shownBy: [`${PYTHON_PACKAGES}/grpc`],
    packages: ["python3-grpcio"],
  },
  {
    name: "policy host in Python: its arrays",
    shownBy: [`${PYTHON_PACKAGES}/numpy`],
    packages: ["python3-numpy"],
  },
  {
    name: "policy host in Python: pictures as JPEG",
    shownBy: [`${PYTHON_PACKAGES}/PIL`],
    packages: ["python3-pil"],
  },
  {
    name: "GR00T bridge: its line",
    shownBy: [`${PYTHON_PACKAGES}/zmq`],
    packages: ["python3-zmq"],
  },
  {
    name: "GR00T bridge: its messages",
    shownBy: [`${PYTHON_PACKAGES}/msgpack`],
    packages: ["python3-msgpack"],
  },
];

/** What no package brings. */
const rights: readonly {
  readonly name: string;
  readonly isThere: boolean;
  readonly help: string;
}[] = [
  {
    name: "a full disk under a run",
    isThere: hasTinyDisk,
    help: "a mount namespace (unshare -Urm) is refused on this machine",
  },
];

/** Installs what it may, and returns a line for each part that is still missing. */
export async function optionalParts(): Promise<string[]> {
  const wanted = parts
    .filter((part) => isMissing(part) && part.isLarge !== true)
    .flatMap((part) => part.packages);
  if (wanted.length > 0 && process.getuid?.() === 0 && existsSync("/usr/bin/apt-get")) {
    await install(wanted);
  }
  const lines = [
    ...parts
      .filter(isMissing)
      .map(({ name, packages }) => `${name}: sudo apt-get install ${packages.join(" ")}`),
    ...rights.filter(({ isThere }) => !isThere).map(({ name, help }) => `${name}: ${help}`),
  ].map((line) => `skipped: ${line}`);
  for (const line of lines) console.log(line);
  return lines;
}

const isMissing = (part: OptionalPart): boolean => !part.shownBy.some((file) => existsSync(file));

/** Once with the package lists as they are, and once more after fetching them. */
async function install(packages: readonly string[]): Promise<void> {
  const argv = ["apt-get", "install", "-y", "--no-install-recommends", ...LOCK_WAIT, ...packages];
  const options = {
    secondsMax: INSTALL_SECONDS_MAX,
    env: { DEBIAN_FRONTEND: "noninteractive" },
  };
  console.log(`installing ${packages.join(", ")}`);
  if ((await runCommand(argv, options)).code === 0) return;
  await runCommand(["apt-get", "update"], options);
  const result = await runCommand(argv, options);
  if (result.code !== 0) console.log(`apt-get failed: ${result.output.trim().split("\n").at(-1)}`);
}
