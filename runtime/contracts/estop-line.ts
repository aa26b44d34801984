// What crosses between the e-stop's driver thread, the control thread and main: three records and
// their slots. Append only. Every slot of a record is written anew each time it is published.

import { ANSWERS_PER_TICK } from "./tick-signature.ts";

/** Driver to control: the newest question, and what the e-stop means for the supervisor. */
export const EstopAskSlot = {
  question: 0,
  questionId: 1,
  bootNonce: 2,
  /** How many answers the next tick should earn. */
  answerCount: 3,
  /** Bits of `Fault`. */
  faultBits: 4,
} as const;
export const ESTOP_ASK_SLOT_COUNT = 5;

/** Control to driver: what one completed tick earned, and for which question. */
export const EstopBeatSlot = {
  questionId: 0,
  bootNonce: 1,
  hostMode: 2,
  /** Of the first answer; the others follow it. */
  tickIndex: 3,
  answerCount: 4,
  /** 1 while a latched fault says that the robot doesn't obey. */
  wantsCut: 5,
  answers: 6,
} as const;
export const ESTOP_BEAT_SLOT_COUNT = EstopBeatSlot.answers + ANSWERS_PER_TICK;

/** Driver to main: what people want to know of the chip and its line. */
export const EstopStatusSlot = {
  /** 1 once a status came. */
  heard: 0,
  mode: 1,
  /** Why the outputs were last open, kept through a proof test until they close. */
  cause: 2,
  problem: 3,
  failCount: 4,
  badCount: 5,
  lastBad: 6,
  inputs: 7,
  outputs: 8,
  proofStep: 9,
  build: 10,
  silenceMs: 11,
  stopMs: 12,
  cutDelayMs: 13,
  /** Times the outputs closed, and times they opened without a goodbye. */
  armedCount: 14,
  tripCount: 15,
  statusCount: 16,
  beatCount: 17,
  /** Cycles of the driver that were skipped. */
  missedBeats: 18,
} as const;
export const ESTOP_STATUS_SLOT_COUNT = 19;
