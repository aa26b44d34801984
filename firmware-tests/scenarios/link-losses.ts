// The rows of the loss table that are about a policy's host: how it is lost, and what must follow.
// Every figure is asserted equal to what is measured over fifty phases of a heartbeat.

import type { LinkCell } from "./link-cell.ts";

export type LinkLoss = {
  readonly id: string;
  readonly cause: string;
  readonly kill: (cell: LinkCell) => void;
  readonly revive: (cell: LinkCell) => void;
  /** What a person is told. */
  readonly says: string;
  /** From the loss to where the link knows of it, and to the first tick without a decision. */
  readonly knownWithinMs: number;
  readonly noActionWithinMs: number;
};

/** From the first tick without a decision. */
export const STOP_AFTER_MS = 500;

export const linkLosses: readonly LinkLoss[] = [
  {
    id: "host-dead",
    cause: "GPU host dead: its process is killed",
    kill: ({ link }) => {
      link.isDown = true;
      link.cut("UNAVAILABLE: Connection dropped");
    },
    revive: ({ link }) => {
      link.isDown = false;
    },
    says: "Connection dropped",
    knownWithinMs: 0,
    noActionWithinMs: 265,
  },
  {
    id: "host-frozen",
    cause: "GPU host frozen: its process is stopped, the line stays open",
    kill: ({ link }) => {
      link.isFrozen = true;
    },
    revive: ({ link }) => {
      link.isFrozen = false;
    },
    says: "nothing heard for 600 ms",
    knownWithinMs: 601,
    noActionWithinMs: 268,
  },
  {
    id: "host-black-holed",
    cause: "GPU host black-holed: its network or its power is gone",
    kill: ({ link }) => {
      link.weather = { ...link.weather, lossRatio: 1 };
    },
    revive: ({ link }) => {
      link.weather = { ...link.weather, lossRatio: 0 };
    },
    says: "nothing heard for 600 ms",
    knownWithinMs: 601,
    noActionWithinMs: 268,
  },
];
