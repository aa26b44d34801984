// Policy files that do wrong, by what each does; `fixtures/` has them. A run is given the path, as
// a user would give it.

const path = (url: URL): string => url.pathname;

export const fixturePolicies = {
  throws: path(new URL("./fixtures/policy-throws.ts", import.meta.url)),
  rubbish: path(new URL("./fixtures/policy-rubbish.ts", import.meta.url)),
  loops: path(new URL("./fixtures/policy-loops.ts", import.meta.url)),
  neverAnswers: path(new URL("./fixtures/policy-never-answers.ts", import.meta.url)),
  exits: path(new URL("./fixtures/policy-exits.ts", import.meta.url)),
  throwsLater: path(new URL("./fixtures/policy-throws-later.ts", import.meta.url)),
  throwsNull: path(new URL("./fixtures/policy-throws-null.ts", import.meta.url)),
  breaksControl: path(new URL("./fixtures/policy-breaks-control.ts", import.meta.url)),
  promises: path(new URL("./fixtures/policy-promises.ts", import.meta.url)),
  resetLoops: path(new URL("./fixtures/policy-reset-loops.ts", import.meta.url)),
  loadsForever: path(new URL("./fixtures/policy-loads-forever.ts", import.meta.url)),
  segfaults: path(new URL("./fixtures/policy-segfaults.ts", import.meta.url)),
  stormsMain: path(new URL("./fixtures/policy-storms-main.ts", import.meta.url)),
  sees: path(new URL("./fixtures/policy-sees.ts", import.meta.url)),
  colours: path(new URL("./fixtures/policy-colours.ts", import.meta.url)),
  diesAtStart: path(new URL("./fixtures/policy-dies-at-start.ts", import.meta.url)),
  posts: path(new URL("./fixtures/policy-posts.ts", import.meta.url)),
  wallClock: path(new URL("./fixtures/policy-wall-clock.ts", import.meta.url)),
  noAct: path(new URL("./fixtures/policy-no-act.ts", import.meta.url)),
  slowAtFirst: path(new URL("./fixtures/policy-slow-at-first.ts", import.meta.url)),
  otherJoints: path(new URL("./fixtures/policy-other-joints.ts", import.meta.url)),
} as const;
