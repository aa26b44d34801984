// Carries an OpenpiSession over Bun's WebSocket, and opens the policy behind it. Each connection is
// a socket of its own; whatever an older one still says is dropped. It decides nothing.
//
// Before the run the server is asked once about a made-up state, with a minute to answer: a model
// compiles itself at its first question, and a server that does not fit is refused here, before
// anything moves.

import type { OpenpiMapping } from "../contracts/openpi.ts";
import type { PictureReader } from "../contracts/policy.ts";
import type { RobotProfile } from "../contracts/profile.ts";
import { SeededRandom } from "../contracts/seeded-random.ts";
import { FieldSlot, StateView } from "../contracts/state.ts";
import type { StateLayout } from "../contracts/state.ts";
import { OBS_SIZE_BYTES } from "../contracts/obs-transform.ts";
import { instant } from "../contracts/units.ts";
import type { Instant } from "../contracts/units.ts";
import { PolicyError } from "../policy/policy-error.ts";
import { OpenpiActions } from "./openpi-actions.ts";
import { OpenpiObservation } from "./openpi-observation.ts";
import { OPENPI_PATIENCE_NS, OpenpiPolicy } from "./openpi-policy.ts";
import { OpenpiSession } from "./openpi-session.ts";
import type { OpenpiAnswer } from "./openpi-session.ts";

/** How often timers are served. */
const POLL_MS = 5;
/** A server that cannot be reached for so long is not there: the run does not start. */
const REACH_MS_MAX = 10_000;
/** How often a person hears what is waited for. */
const TELL_MS = 10_000;

export type OpenpiOptions = {
  /** `host:port`. */
  readonly target: string;
  readonly mapping: OpenpiMapping;
  readonly robot: RobotProfile;
  readonly layout: StateLayout;
  readonly pictures: PictureReader | undefined;
  readonly nowNs: () => Instant;
  readonly isLockstep: boolean;
  readonly seed: number;
  readonly note: (text: string) => void;
};

type SocketParts = {
  readonly target: string;
  readonly nowNs: () => Instant;
  readonly onAnswer: (answer: OpenpiAnswer) => void;
};

export class OpenpiSocket {
  readonly #session: OpenpiSession;
  readonly #parts: SocketParts;
  #socket: WebSocket | undefined;

  constructor(session: OpenpiSession, parts: SocketParts) {
    this.#session = session;
    this.#parts = parts;
  }

  /** Serves the session's timers and carries out what it wants. Call it every few milliseconds. */
  pump(): void {
    this.#session.step(this.#parts.nowNs());
    this.#carryOut();
  }

  close(): void {
    this.#session.close();
    this.#carryOut();
  }

  #carryOut(): void {
    const session = this.#session;
    for (let out = session.takeOutput(); out !== undefined; out = session.takeOutput()) {
      if (out.kind === "dial") this.#dial();
      else if (out.kind === "hangUp") this.#hangUp();
      else this.#socket?.send(out.bytes);
    }
    for (let answer = session.takeAnswer(); answer !== undefined; answer = session.takeAnswer()) {
      this.#parts.onAnswer(answer);
    }
  }

  #dial(): void {
    // Never compressed, so that no small frame grows. Bun ends a frame of more than 128 MiB.
    const socket = new WebSocket(`ws://${this.#parts.target}`, { perMessageDeflate: false });
    socket.binaryType = "arraybuffer";
    this.#socket = socket;
    const { nowNs } = this.#parts;
    const tell = (happened: (atNs: Instant) => void): void => {
      if (this.#socket !== socket) return;
      happened(nowNs());
      this.#carryOut();
    };
    const ended = (why: string) => () => {
      tell((atNs) => {
        this.#socket = undefined;
        this.#session.closed(why, atNs);
      });
    };
    socket.addEventListener("open", () => tell(() => this.#session.opened()));
    socket.addEventListener("message", ({ data }: MessageEvent<string | ArrayBuffer>) => {
      tell((atNs) => {
        if (typeof data === "string") this.#session.receivedText(data, atNs);
        else this.#session.received(new Uint8Array(data), atNs);
      });
    });
    socket.addEventListener("error", () => undefined); // the close that follows says it all
    socket.addEventListener("close", ({ code, reason }) => {
      const wasOpen = this.#session.phase !== "dialing";
      const detail = reason === "" ? `code ${code}` : `code ${code}, ${reason}`;
      ended(wasOpen ? `the connection was closed (${detail})` : "cannot connect")();
    });
  }

  #hangUp(): void {
    const socket = this.#socket;
    this.#socket = undefined;
    // Not `close`, which waits for a peer that may be dead.
    socket?.terminate();
  }
}

/** Throws PolicyError when the server is not there, fails, or answers what does not fit. */
export async function openOpenpiPolicy(options: OpenpiOptions): Promise<OpenpiPolicy> {
  const { mapping, robot, layout, pictures, nowNs, isLockstep, target } = options;
  const session = new OpenpiSession(new SeededRandom(options.seed));
  const actions = new OpenpiActions(mapping, robot);
  const observation = new OpenpiObservation(mapping, robot, layout, pictures);
  let onAnswer: (answer: OpenpiAnswer) => void = () => undefined;
  const socket = new OpenpiSocket(session, {
    target,
    nowNs,
    onAnswer: (answer) => onAnswer(answer),
  });
  session.start(nowNs());
  const timer = setInterval(() => socket.pump(), POLL_MS);
  const hangUp = (): void => {
    clearInterval(timer);
    socket.close();
  };
  try {
    await untilConnected(session, target);
    const question = madeUpQuestion(options);
    session.request(question, instant(nowNs() + OPENPI_PATIENCE_NS));
    const answer = await firstAnswer(session, options, (handler) => {
      onAnswer = handler;
      socket.pump();
    });
    const refusal = "failure" in answer ? answer.failure : actions.refusalOf(answer.actions);
    if (refusal !== undefined) {
      throw unusable(target, refusal.expected || "an answer", refusal.found);
    }
    session.used();
  } catch (error) {
    hangUp();
    throw error;
  }
  const pump = (): void => socket.pump();
  const parts = { session, mapping, observation, actions, pump, hangUp, nowNs, isLockstep };
  const policy = new OpenpiPolicy(parts);
  onAnswer = (answer) => policy.answered(answer);
  return policy;
}

async function untilConnected(session: OpenpiSession, target: string): Promise<void> {
  for (let waitedMs = 0; session.phase !== "ready"; waitedMs += POLL_MS) {
    if (waitedMs >= REACH_MS_MAX) throw unusable(target, "an openpi server", session.trouble);
    await Bun.sleep(POLL_MS);
  }
}

/** The robot at home, every picture black. */
function madeUpQuestion({ mapping, robot, layout }: OpenpiOptions): Uint8Array {
  const state = new StateView(new Float64Array(layout.slotCount), layout);
  for (const [index, { homeRad }] of robot.joints.entries()) state.positionRad[index] = homeRad;
  for (const field of state.fields) state.record[field.spec.offset + FieldSlot.present] = 1;
  const black = new Uint8Array(OBS_SIZE_BYTES);
  const pictures = { transformed: () => black };
  const question = new OpenpiObservation(mapping, robot, layout, pictures).encode(state);
  if (!(question instanceof Uint8Array)) throw new TypeError(question.missing);
  return question;
}

async function firstAnswer(
  session: OpenpiSession,
  { target, note }: OpenpiOptions,
  listen: (handler: (answer: OpenpiAnswer) => void) => void,
): Promise<OpenpiAnswer> {
  let answer: OpenpiAnswer | undefined;
  listen((given) => {
    answer = given;
  });
  for (let waitedMs = 0; answer === undefined; waitedMs += POLL_MS) {
    if (waitedMs % TELL_MS === 0 && waitedMs > 0 && session.isBusy) {
      note(`openpi server ${target}: its first answer is under way; a model may compile`);
    }
    await Bun.sleep(POLL_MS);
  }
  return answer;
}

function unusable(target: string, expected: string, found: string): PolicyError {
  const action = `Cannot use the openpi server ${target}`;
  return new PolicyError("no_host", action, { place: "--policy", expected, found });
}
