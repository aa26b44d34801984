// A preload of `scripts/firmware-coverage.ts`: once the tests of a process are over, the libraries
// of the e-stop's core add what they counted to their files. A process of Bun's ends without it.

import { dlopen } from "bun:ffi";
import { afterAll } from "bun:test";
import { hostLibrary } from "./firmware-build.ts";

afterAll(() => {
  for (const keyed of [false, true]) {
    const { symbols } = dlopen(hostLibrary(keyed), {
      host_write_counts: { args: [], returns: "void" },
    });
    symbols.host_write_counts();
  }
});
