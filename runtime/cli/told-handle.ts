// A run as the socket and the page are given it: the same run, and what is asked of it there is
// told to the person at its own terminal, who sees neither.

import type { CueAnswer, RunHandle } from "./run-handle.ts";

/** `tell` is called with every answer to a cue, after the run has heard it. */
export function toldHandle(handle: RunHandle, tell: (answer: CueAnswer) => void): RunHandle {
  const told = (cue: () => CueAnswer) => (): CueAnswer => {
    const answer = cue();
    tell(answer);
    return answer;
  };
  return {
    stop: told(() => handle.stop()),
    park: told(() => handle.park()),
    reset: told(() => handle.reset()),
    start: told(() => handle.start()),
    estop: told(() => handle.estop()),
    arm: told(() => handle.arm()),
    prooftest: told(() => handle.prooftest()),
    status: () => handle.status(),
    letGo: () => handle.letGo(),
    parks: handle.parks,
    quit: () => handle.quit(),
    frame: () => handle.frame(),
  };
}
