// The console page in a real browser, on a real run: what a person sees and presses. Skipped where
// there is no Chromium, or no `script` to make the terminal that shows the owner's address.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { chromium } from "playwright-core";
import type { Browser, Page } from "playwright-core";
import { FROM_SOURCE, Scratch } from "./process.ts";

const CHROMIUM = "/usr/bin/chromium";
const script = Bun.which("script");
const canRun = existsSync(CHROMIUM) && script !== null;
/** Headless and offline: the browser must ask for nothing but the page. */
const SWITCHES = [
  ...["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"],
  ...["--disable-background-networking", "--disable-component-update", "--disable-sync"],
];

const OWNER_URL = /http:\/\/127\.0\.0\.1:\d+\/#[\w-]{32}/;

let browser: Browser;
beforeAll(async () => {
  if (canRun) browser = await chromium.launch({ executablePath: CHROMIUM, args: SWITCHES });
});
afterAll(async () => {
  if (canRun) await browser.close();
});

/** A run on a terminal of its own; the address that only that terminal shows. */
class TerminalRun {
  readonly scratch = new Scratch();
  readonly #child: Bun.Subprocess<"pipe", "pipe", "inherit">;
  readonly ownerUrl: Promise<string>;

  constructor(args: readonly string[]) {
    const line = [...FROM_SOURCE, ...args].map((word) => `'${word}'`).join(" ");
    this.#child = Bun.spawn([script!, "-qec", line, "/dev/null"], {
      stdin: "pipe",
      stdout: "pipe",
      env: {
        PATH: process.env["PATH"] ?? "",
        HOME: this.scratch.folder,
        XDG_RUNTIME_DIR: this.scratch.runtimeFolder,
        XDG_STATE_HOME: this.scratch.stateFolder,
        SHELL: "/bin/sh",
        NO_COLOR: "1",
      },
    });
    const found = Promise.withResolvers<string>();
    this.ownerUrl = found.promise;
    void this.#read(found);
  }

  /** To the end: a run whose terminal nobody reads goes on, but its last words wait. */
  async #read(found: PromiseWithResolvers<string>): Promise<void> {
    const decoder = new TextDecoder();
    let text = "";
    for await (const bytes of this.#child.stdout) {
      text += decoder.decode(bytes, { stream: true });
      const url = OWNER_URL.exec(text)?.[0];
      if (url !== undefined) found.resolve(url);
    }
    found.reject(new Error(`Cannot find the owner's address in what the run wrote:\n${text}`));
  }

  type(text: string): void {
    void this.#child.stdin.write(text);
    void this.#child.stdin.flush();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.type("q");
    await this.#child.exited;
    this.scratch[Symbol.dispose]();
  }
}

type Seen = { readonly page: Page; readonly complaints: string[] };

/** A tab, and what the browser complains of: a script's error, a refused style, a lost request. */
async function open(url: string): Promise<Seen> {
  const page = await (await browser.newContext()).newPage();
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(message.text());
  });
  await page.goto(url);
  return { page, complaints };
}

async function mode(page: Page, wanted: string): Promise<void> {
  await page.locator("#mode", { hasText: wanted }).waitFor();
}

test.skipIf(!canRun)("a person watches, stops, resets and starts the arm on its page", async () => {
  await using run = new TerminalRun(["run", "so101", "--seed", "1"]);
  const { page, complaints } = await open(await run.ownerUrl);
  await mode(page, "RUNNING");
  await page.locator("#frame[src^='blob:']").waitFor();
  expect(await page.locator("#joints tr").count()).toBe(6);
  expect(page.url()).not.toContain("#"); // a token that stays in the address is copied with it

  await page.locator("#stop").click();
  await mode(page, "SAFE STOP");
  await page.locator("#start").click(); // before the reset: nothing
  await page.locator("#said", { hasText: "ignored in SAFE_STOP" }).waitFor();
  await mode(page, "SAFE STOP");
  await page.locator("#reset").click();
  await mode(page, "RECOVER");
  await page.keyboard.press("s");
  await mode(page, "RUNNING");
  await page.keyboard.press(" ");
  await mode(page, "SAFE STOP");
  expect(complaints.filter((text) => !text.includes("409"))).toEqual([]);
});

test.skipIf(!canRun)("a viewer without the token may stop and nothing else", async () => {
  await using run = new TerminalRun(["run", "so101", "--seed", "1"]);
  const { page, complaints } = await open((await run.ownerUrl).replace(/#.*/, ""));
  await mode(page, "RUNNING");
  expect(await page.locator("#reset").isDisabled()).toBe(true);
  expect(await page.locator("#start").isDisabled()).toBe(true);
  await page.keyboard.press("s");
  await page.locator("#stop").click();
  await mode(page, "SAFE STOP");
  run.type("q");
  await page.locator("#ended", { hasText: "run ended" }).waitFor({ state: "visible" });
  expect(complaints.filter((text) => !text.includes("ERR_CONNECTION"))).toEqual([]);
});
