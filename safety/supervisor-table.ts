// The supervisor's transitions, as data. The matrix is total: a new mode or cue does not compile
// until every cell is decided. `scripts/diagrams.ts` draws it into safety/README.md.

import { Mode, modeNames } from "../runtime/contracts/mode.ts";

/** What the supervisor tells its machine. The codes are the columns of the matrix. */
export const Cue = {
  Healthy: 0,
  Fault: 1,
  /** A fault has lasted its limit within this phase. */
  FaultHeld: 2,
  /** Too many stops by faults within the relapse window. */
  Relapse: 3,
  /** The independent e-stop cut the power. */
  EstopOpen: 4,
  /** An edge, raised only while no fault is active. */
  OperatorReset: 5,
  /** Raised only once what the mode waits for is there. */
  OperatorStart: 6,
} as const;
export type Cue = (typeof Cue)[keyof typeof Cue];
export const CUE_COUNT = 7;

const { Starting, Running, Degraded, SafeStop, Recover, FaultLatched: Latched } = Mode;
type Row = readonly [Mode, Mode, Mode, Mode, Mode, Mode, Mode]; // one cell per cue

// Running and Degraded may move, as far as the worst fault's row allows. A reset never moves: only
// a start does.
// biome-ignore format: the columns are the point
export const transitions: Readonly<Record<Mode, Row>> = {
  //           Healthy   Fault     FaultHeld Relapse  EstopOpen OperatorReset OperatorStart
  [Starting]: [Starting, Starting, SafeStop, Latched, Latched,  Starting,     Running ],
  [Running]:  [Running,  Degraded, SafeStop, Latched, Latched,  Running,      Running ],
  [Degraded]: [Running,  Degraded, SafeStop, Latched, Latched,  Degraded,     Degraded],
  [SafeStop]: [SafeStop, SafeStop, Latched,  Latched, Latched,  Recover,      SafeStop],
  [Recover]:  [Recover,  SafeStop, Latched,  Latched, Latched,  Recover,      Running ],
  [Latched]:  [Latched,  Latched,  Latched,  Latched, Latched,  Recover,      Latched ],
};

/** Flattened once, so that a tick costs one array read: `nextMode[mode * CUE_COUNT + cue]`. */
export const nextMode: Uint8Array = Uint8Array.from(
  modeNames.flatMap((_, from) => transitions[from as Mode]),
);
