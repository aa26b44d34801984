// What pairing leaves on disk: on a host its authority and one file for each robot, on a robot one
// file for each host. Files are for their owner alone, and one that others can read is refused. A
// peer has a file of its own, so that pairing and revoking never overwrite each other; a file is
// written beside its place and then renamed, so it is whole or not there.

import {
  closeSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { PairingError } from "./pair-error.ts";
import type { HostIdentity } from "./tls-certificates.ts";

const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;
const OTHERS = 0o077;

/** A robot that was paired with this host. */
export type PairedRobot = {
  readonly name: string;
  readonly fingerprint: string;
  readonly isRevoked: boolean;
};

/** A host that this robot was paired with: all that a connection needs. */
export type PairedHost = {
  /** As it was typed: the address without its port. */
  readonly name: string;
  readonly fingerprint: string;
  readonly isRevoked: boolean;
  /** PEM: whose certificates are believed, what is shown, and the key to it. */
  readonly authority: string;
  readonly certificate: string;
  readonly key: string;
};

export class PairStore {
  readonly #folder: string;

  /** `stateFolder` is $XDG_STATE_HOME or what stands for it. */
  constructor(stateFolder: string) {
    this.#folder = join(stateFolder, "holdfast", "pairing");
  }

  /** Undefined before the first pairing. */
  identity(): HostIdentity | undefined {
    return readWhole<HostIdentity>(this.#identityPath, isIdentity);
  }

  /** The host's authority and certificate, made at first use and never again. */
  async needIdentity(make: () => Promise<HostIdentity>): Promise<HostIdentity> {
    const found = this.identity();
    if (found !== undefined) return found;
    writeWhole(this.#identityPath, await make(), linkSync);
    return this.identity()!;
  }

  robots(): PairedRobot[] {
    return this.#all(this.#robotFolder, isRobot);
  }

  hosts(): PairedHost[] {
    return this.#all(this.#hostFolder, isHost);
  }

  host(name: string): PairedHost | undefined {
    return this.hosts().find((each) => each.name === name.toLowerCase());
  }

  /** True for a host whose key was revoked here, by whatever address it is known. */
  isRevokedHost(fingerprint: string): boolean {
    return this.hosts().some((each) => each.isRevoked && each.fingerprint === fingerprint);
  }

  /** True for a robot that was paired with this host and not revoked since. */
  admits(fingerprint: string): boolean {
    return this.robots().some((each) => !each.isRevoked && each.fingerprint === fingerprint);
  }

  /** A name for a robot that none has yet, from what it calls itself. */
  freeName(wished: string): string {
    const plain = wished
      .toLowerCase()
      .replaceAll(/[^a-z0-9-]+/g, "-")
      .slice(0, 40);
    const name = plain.replace(/^-+|-+$/g, "") || "robot";
    const taken = new Set(this.robots().map((each) => each.name));
    for (let count = 2, free = name; ; count += 1) {
      if (!taken.has(free)) return free;
      free = `${name}-${count}`;
    }
  }

  putRobot(robot: PairedRobot): void {
    writeWhole(join(this.#robotFolder, `${robot.name}.json`), robot);
  }

  /** Replaces what an earlier pairing with this address left. */
  putHost(host: PairedHost): void {
    const name = host.name.toLowerCase();
    writeWhole(join(this.#hostFolder, `${name}.json`), { ...host, name });
  }

  get #identityPath(): string {
    return join(this.#folder, "host", "identity.json");
  }
  get #robotFolder(): string {
    return join(this.#folder, "host", "robots");
  }
  get #hostFolder(): string {
    return join(this.#folder, "robot", "hosts");
  }

  #all<T extends { readonly name: string }>(
    folder: string,
    isWhole: (value: object) => boolean,
  ): T[] {
    const files = listed(folder).filter((file) => file.endsWith(".json"));
    const peers = files.flatMap((file) => readWhole<T>(join(folder, file), isWhole) ?? []);
    return peers.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }
}

function listed(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (cause) {
    if (codeOf(cause) === "ENOENT") return [];
    throw unusable(folder, "a folder to read", codeOf(cause), cause);
  }
}

/** Undefined when nothing is there. */
function readWhole<T>(path: string, isWhole: (value: object) => boolean): T | undefined {
  let text = "";
  try {
    const status = lstatSync(path);
    if (!status.isFile()) throw unusable(path, "a regular file", "something else");
    const mode = status.mode & 0o777;
    if ((mode & OTHERS) !== 0) {
      const expected = `a file for its owner alone (chmod 600 "${path}")`;
      throw unusable(path, expected, `mode ${mode.toString(8)}`);
    }
    text = readFileSync(path, "utf8");
  } catch (cause) {
    if (cause instanceof PairingError) throw cause;
    if (codeOf(cause) === "ENOENT") return undefined;
    throw unusable(path, "a file to read", codeOf(cause), cause);
  }
  const value = parsed(text);
  if (value !== undefined && isWhole(value)) return value as T;
  throw unusable(path, "what pairing wrote (remove it and pair again)", "something else");
}

function parsed(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch (cause) {
    if (cause instanceof SyntaxError) return undefined;
    throw cause;
  }
}

/** Puts a file in its place at once: over what is there, or, by a link, only where nothing is. */
function writeWhole(path: string, value: object, place = renameSync): void {
  const folder = dirname(path);
  const beside = join(folder, `.new-${process.pid}`);
  try {
    mkdirSync(folder, { recursive: true, mode: FOLDER_MODE });
    try {
      writeThrough(beside, `${JSON.stringify(value, undefined, 2)}\n`);
      place(beside, path);
    } finally {
      rmSync(beside, { force: true }); // it holds keys
    }
  } catch (cause) {
    if (codeOf(cause) === "EEXIST") return;
    throw unusable(path, "a file to write", codeOf(cause), cause);
  }
}

/** Writes all of a file, down to the disk. */
function writeThrough(path: string, text: string): void {
  const file = openSync(path, "w", FILE_MODE);
  try {
    writeFileSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

const unusable = (path: string, expected: string, found: string, cause?: unknown): PairingError =>
  new PairingError(`Cannot use "${path}"`, expected, found, cause);

const codeOf = (cause: unknown): string =>
  cause instanceof Error && "code" in cause ? String(cause.code) : String(cause);

const hasTexts = (value: object, names: readonly string[]): boolean =>
  names.every((name) => typeof (value as Record<string, unknown>)[name] === "string");

const isRobot = (value: object): boolean =>
  hasTexts(value, ["name", "fingerprint"]) && "isRevoked" in value;

const isHost = (value: object): boolean =>
  isRobot(value) && hasTexts(value, ["authority", "certificate", "key"]);

const isIdentity = (value: object): boolean => {
  const { authority, host } = value as { authority?: unknown; host?: unknown };
  return [authority, host].every(
    (each) => typeof each === "object" && each !== null && hasTexts(each, ["key", "certificate"]),
  );
};
