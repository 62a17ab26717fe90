/** A real Chromium: the one that CHROMIUM names, or where systems put it. */
import { existsSync } from "node:fs";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { skipUnless } from "./skip-reason.ts";

const places = [
  // Chromium without windows: the same pages for a third less of the processor's time.
  "/usr/bin/chromium-headless-shell",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];

export const browserPath = [process.env.CHROMIUM ?? "", ...places].find(
  (path) => path !== "" && existsSync(path),
);

const missing =
  "Chromium is not installed: apt-get install chromium-headless-shell, or name its program in CHROMIUM";

// Where the tests have to run, a page that nobody looked at must not pass for one that works.
if (skipUnless(browserPath !== undefined, missing) && process.env.PADDOCK_REQUIRE_BROWSER === "1") {
  throw new Error(`The tests of the page have to run here. ${missing}`);
}

/** What a page is tried without. */
const disabledFeatures = [
  // Two pages of the address bar and a process to spare, with each window: nearly half of all CPU time.
  ...["WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "SpareRendererForSitePerProcess"],
  // What Playwright names itself: Chromium takes the last list alone.
  ...["AvoidUnnecessaryBeforeUnloadCheckSync", "DestroyProfileOnBrowserClose", "HttpsUpgrades"],
  ...["HttpsFirstBalancedModeAutoEnable", "LensOverlay", "MediaRouter", "PaintHolding"],
  ...["ThirdPartyStoragePartitioning", "AvoidCorsURLLoaderRestartOnRedirect"],
  ...["OptimizationHints", "NetworkTimeServiceQuerying", "AimEnabled", "PreconnectToSearch"],
];

/** Less than a test has, so that it ends with the reason. */
const giveUpMs = 1_000_000;

let launched: Promise<Browser | undefined> = Promise.resolve(undefined);

/** One browser for all tests of a process; it ends with the process, and at a test's time-out. */
async function theBrowser(): Promise<Browser> {
  const running = await launched;
  if (running?.isConnected() === true) return running;
  const started = chromium.launch({
    ...(browserPath === undefined ? {} : { executablePath: browserPath }),
    // Root, which runs tests in containers, has no sandbox; /dev/shm is often too small there.
    args: [
      ...["--no-sandbox", "--disable-dev-shm-usage"],
      `--disable-features=${disabledFeatures.join(",")}`,
    ],
    timeout: giveUpMs,
  });
  launched = started;
  return await started;
}

/** For scripts, which do not end by themselves while it runs. */
export async function closeBrowser(): Promise<void> {
  await (await launched)?.close();
}

export interface Visit extends AsyncDisposable {
  page: Page;
  /** Errors, and what the content security policy refused: the console's complaints. */
  complaints: string[];
  /** Addresses asked for that are not the node's. */
  strangers: string[];
}

export async function visit(
  origin: string,
  options: BrowserContextOptions & { path?: string } = {},
): Promise<Visit> {
  const { path = "/", ...rest } = options;
  const browser = await theBrowser();
  const context = await browser.newContext({ reducedMotion: "reduce", ...rest });
  context.setDefaultTimeout(giveUpMs);
  const page = await context.newPage();
  const complaints: string[] = [];
  const strangers: string[] = [];
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (line) => {
    // A status that is no success is the node's word, and the page's to show.
    if (line.type() === "error" && !line.text().startsWith("Failed to load resource")) {
      complaints.push(line.text());
    }
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(origin) && !request.url().startsWith("blob:")) {
      strangers.push(request.url());
    }
  });
  await page.goto(`${origin}${path}`);
  return { page, complaints, strangers, [Symbol.asyncDispose]: () => context.close() };
}

/** The page's own waits of a second or more never end, so that no test races with them. */
export async function stopLongTimers(page: Page): Promise<void> {
  const stop = (): void => {
    const start = globalThis.setTimeout;
    const startShort = (run: () => void, ms = 0, ...given: []) =>
      ms < 1000 ? start(run, ms, ...given) : 0;
    Object.assign(globalThis, { setTimeout: startShort });
  };
  await page.addInitScript(stop);
  await page.evaluate(stop);
}

/** Types a question and sends it by Enter, once the page can. */
export async function ask(page: Page, question: string): Promise<void> {
  await page.getByLabel("Your question").fill(question);
  await page.locator("button[type=submit]:enabled", { hasText: "Send" }).waitFor();
  await page.keyboard.press("Enter");
}

export const answers = (page: Page) => page.locator(".turn.answer");
