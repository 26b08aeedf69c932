/** The five causes of a cache miss on the inspector's page, provoked with both providers' shapes: the part, the cost, and no miss for a hit. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { isDeepStrictEqual } from "node:util";
import type { Browser } from "playwright-core";
import { until } from "../runner/until.ts";
import { startServer, type Protocol } from "../servers/server.ts";
import { finish, makeSetting, modelConfig, type Setting } from "../turn/setting.ts";
import { buildPage } from "../server/built-page.ts";
import { InspectProcess, openBrowser, openPage, runTurn } from "./inspector-setting.ts";

type Cause = "model" | "system" | "tools" | "messages" | "time";

interface Turn {
  /** Of our own finding; absent for a hit. */
  cause?: Cause;
  /** Part of the body that the page names. */
  part?: RegExp;
  model?: string;
  prompt?: string;
  /** What the provider says. */
  says?: string;
  before?(setting: Setting): Promise<void> | void;
}

/** More than a provider's smallest cached beginning. */
const LONG = "The harbour of Triest has many quays. ".repeat(800);
const MCP_SERVER = join(import.meta.dirname, "../mcp/client/server.child.ts");
const MINUTES_MS = 6 * 60_000;

/** Lets the requests so far be older than they are: their receipts and captures. */
function age({ home }: Setting): void {
  const files = readdirSync(home, { recursive: true, encoding: "utf8" }).filter((file) =>
    /\.receipts\.jsonl$|^captures\/.*\/\d+\.json$/.test(file),
  );
  for (const file of files) {
    const older = readFileSync(join(home, file), "utf8").replaceAll(
      /"(timestamp|time)":(\s*)"([^"]+)"/g,
      (_, name: string, space: string, at: string) =>
        `"${name}":${space}"${new Date(Date.parse(at) - MINUTES_MS).toISOString()}"`,
    );
    writeFileSync(join(home, file), older);
  }
}

/** Adds the tools of an MCP server. */
function addTools({ home }: Setting): void {
  const file = join(home, "pagurus.json");
  const config = JSON.parse(readFileSync(file, "utf8")) as Record<string, unknown>;
  const mcp = { servers: { harbour: { command: process.execPath, args: [MCP_SERVER] } } };
  writeFileSync(file, JSON.stringify({ ...config, mcp }), { mode: 0o600 });
}

async function rewind(setting: Setting): Promise<void> {
  const { code, stderr } = await finish(setting, ["sessions", "rewind", "main", "start"]);
  assert.equal(code, 0, stderr);
}

const TURNS: readonly Turn[] = [
  { prompt: LONG, before: ({ workspace }) => writeFileSync(join(workspace, "AGENTS.md"), "Be brief.\n") },
  { says: "none" },
  {
    cause: "system",
    part: /^Project file: .*AGENTS\.md/,
    says: "system_changed",
    before: ({ workspace }) => writeFileSync(join(workspace, "AGENTS.md"), "Count the quays.\n"),
  },
  { cause: "model", model: "test/gpt-5.6-b", says: "model_changed" },
  {
    cause: "tools",
    part: /^Tool: \S/,
    model: "test/gpt-5.6-b",
    says: "tools_changed",
    before: addTools,
  },
  {
    cause: "messages",
    part: /^This turn: \S/,
    model: "test/gpt-5.6-b",
    prompt: `Again. ${LONG}`,
    says: "messages_changed",
    before: rewind,
  },
  { cause: "time", model: "test/gpt-5.6-b", before: age },
  { model: "test/gpt-5.6-b", says: "none" },
];

/** As each protocol writes a diagnosis. */
function diagnosis(protocol: Protocol, says: string | undefined): unknown {
  if (protocol === "anthropic-messages")
    return says === undefined || says === "none"
      ? null
      : { cache_miss_reason: { type: says, cache_missed_input_tokens: 1_234 } };
  if (says === undefined || says === "none") return { type: "cache_hit" };
  return { type: "cache_miss", reason: says, cache_missed_tokens: 1_234 };
}

describe("cache misses on the inspector's page", () => {
  let browser: Browser;
  before(async () => {
    await buildPage();
    browser = await openBrowser();
  });
  after(() => browser.close());

  for (const protocol of ["anthropic-messages", "openai-responses"] as const)
    it(`name the cause, the part and the cost with ${protocol}, and a hit has none`, async () => {
      const model = await startServer({
        protocol,
        script: (_, index) => {
          const turn = TURNS[index];
          const isHit = index > 0 && turn?.cause === undefined;
          return {
            text: `Answer ${index}.`,
            usage: { input: isHit ? 50 : 9_000, cacheRead: isHit ? 20_000 : 0, output: 9 },
            ...(index === 0 ? {} : { cacheDiagnostics: diagnosis(protocol, turn?.says) }),
          };
        },
      });
      const config = modelConfig(protocol, model.url, {}, { gateway: { capture: true } });
      const { providers } = config["models"] as { providers: Record<string, Record<string, unknown>> };
      const cost = { input: 3, output: 15, cacheRead: 0.3 };
      providers["test"] = {
        ...providers["test"],
        cacheDiagnostics: true,
        models: ["gpt-5.6-a", "gpt-5.6-b"].map((id) => ({
          id,
          cost,
          contextWindow: 100_000,
          maxTokens: 4_000,
        })),
      };
      const { defaults } = config["agents"] as { defaults: Record<string, unknown> };
      defaults["model"] = "test/gpt-5.6-a";
      const setting = makeSetting(config);
      const inspect = { process: undefined as InspectProcess | undefined };
      try {
        for (const { prompt = "And now?", model: ref, before: prepare } of TURNS) {
          await prepare?.(setting);
          await runTurn(setting, prompt, ref === undefined ? [] : ["--model", ref]);
        }
        inspect.process = new InspectProcess(setting, ["--session", "main"]);
        const { page, problems } = await openPage(browser, { viewport: { width: 1200, height: 1_200 } });
        await page.goto(await inspect.process.address);
        const rows = page.getByRole("option", { name: /^request/ });
        await rows.nth(TURNS.length - 1).waitFor();
        // Newest first; a row may be drawn before its verdict.
        let shown: (string | undefined)[] = [];
        const expected = TURNS.map(({ cause }) => cause);
        await until(
          async () => {
            const texts = (await rows.allTextContents()).toReversed();
            shown = texts.map((text) => /cache miss: (\w+)/.exec(text)?.[1]);
            return isDeepStrictEqual(shown, expected);
          },
          () => `the rows name ${shown.join(", ")}`,
        );
        for (const [index, turn] of TURNS.entries()) {
          await rows.nth(TURNS.length - 1 - index).click();
          await page.locator("[data-covered=true]").waitFor();
          const says = await page.locator("[data-provider-says]").allTextContents();
          assert.deepEqual(
            says.map((text) => /cache: (\w+)/.exec(text)?.[1]),
            index === 0 ? [] : [turn.says ?? "none"],
            `turn ${index}`,
          );
          const verdict = page.locator("[data-cache-miss]");
          if (turn.cause === undefined) assert.equal(await verdict.count(), 0, `turn ${index}`);
          else {
            await page.locator(`[data-cache-miss="${turn.cause}"]`).waitFor();
            if (turn.part) await verdict.getByText("first in").waitFor();
            const text = (await verdict.textContent()) ?? "";
            assert.match(text, /: [\d,]+ tokens were not read from the cache, \$\d+\.\d+ more than/);
            if (turn.part) assert.match(/first in “(.*?)”: /.exec(text)?.[1] ?? "", turn.part);
          }
          await page.keyboard.press("Escape");
          await rows.nth(TURNS.length - 1).waitFor();
        }
        // The curves have the provider's counts, and their click leads to the request.
        await page
          .getByText("100 %")
          .or(page.getByText(/in all/))
          .first()
          .waitFor();
        const slider = page.getByRole("slider", { name: "Points of the curves" });
        await slider.press("Home");
        assert.match(
          (await slider.getAttribute("aria-valuetext")) ?? "",
          /^request 1 · 9,000 tokens · cache 0 % · \$0\.02\d+ ·/,
        );
        await slider.press("ArrowRight");
        assert.match(
          (await slider.getAttribute("aria-valuetext")) ?? "",
          /^request 2 · 20,050 tokens · cache 100 %/,
        );
        await slider.press("Enter");
        await page.locator("[data-covered=true]").waitFor();
        assert.equal(await page.locator("[data-cache-miss]").count(), 0);
        await page.keyboard.press("Escape");
        const plot = page.locator(".u-over").first();
        await plot.click({ position: { x: 2, y: 20 } });
        await page.locator("[data-covered=true]").waitFor();
        await page.getByText(/9,000 tokens in/).waitFor();
        assert.deepEqual(problems, []);
      } finally {
        await inspect.process?.stop();
        setting.remove();
        await model.close();
      }
    });
});
