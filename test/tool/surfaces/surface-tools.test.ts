/** The tools for images and sound in turns of an agent, over the provider's real protocol. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { createPagurus } from "../../../packages/app/src/app.ts";
import type { Pagurus } from "../../../packages/contract/src/host/host.ts";
import type { TurnEvent } from "../../../packages/contract/src/host/events.ts";
import { turnGauge } from "../../../packages/host/src/command/context-gauge.ts";
import { startServer, type ModelServer, type ReplyStep } from "../../servers/server.ts";
import {
  PIXEL,
  SPOKEN,
  SURFACE_KEY,
  WORDS,
  startSurfaceServer,
  type SurfaceServer,
} from "../../servers/surface-server.ts";
import { makeSetting, type Setting } from "../../turn/setting.ts";

const SURFACES = { images: "lab/paints", speech: "lab/speaks", transcription: "lab/writes" };
const TOOLS = ["generate_image", "speak", "transcribe_audio"];

interface Result {
  text: string;
  isError: boolean;
}

/** One host whose model makes the calls of the test, each in a turn of its own. */
class ToolBench {
  readonly model: ModelServer;
  readonly provider: SurfaceServer;
  readonly setting: Setting;
  readonly pagurus: Pagurus;
  readonly #calls: { step: ReplyStep | undefined };

  private constructor(parts: Pick<ToolBench, "model" | "provider" | "setting" | "pagurus">, calls: object) {
    this.model = parts.model;
    this.provider = parts.provider;
    this.setting = parts.setting;
    this.pagurus = parts.pagurus;
    this.#calls = calls as { step: ReplyStep | undefined };
  }

  static async open(defaults: object, calls: { step?: ReplyStep | undefined } = {}): Promise<ToolBench> {
    const provider = await startSurfaceServer();
    const model = await startServer({
      protocol: "openai-completions",
      script: () => {
        const { step = { text: "done" } } = calls;
        calls.step = undefined;
        return step;
      },
    });
    const setting = makeSetting({
      models: {
        providers: {
          test: {
            api: "openai-completions",
            baseUrl: model.url,
            models: [{ id: "model", contextWindow: 100_000, cost: { input: 0, output: 0 } }],
          },
          lab: {
            api: "openai-completions",
            baseUrl: provider.url,
            apiKey: SURFACE_KEY,
            models: [
              { id: "paints", surfaces: ["images"], unitCost: { image: 0.04 } },
              { id: "speaks", surfaces: ["speech"], unitCost: { millionCharacters: 15 } },
              { id: "writes", surfaces: ["transcription"], unitCost: { minute: 0.006 } },
              { id: "unpriced", surfaces: ["images"] },
            ],
          },
        },
      },
      agents: {
        defaults: { model: "test/model", permission: { mode: "auto", sandbox: "off" }, ...defaults },
      },
      plugins: { slots: { contextEngine: "legacy" } },
    });
    const pagurus = await createPagurus({ home: setting.home, env: setting.env });
    return new ToolBench({ model, provider, setting, pagurus }, calls);
  }

  async turn(
    step: ReplyStep,
    more: object = {},
  ): Promise<{ results: Result[]; last: TurnEvent | undefined }> {
    this.#calls.step = step;
    const results: Result[] = [];
    let last: TurnEvent | undefined;
    const { workspace: cwd } = this.setting;
    for await (const event of this.pagurus.run({ prompt: "Do it.", sessionKey: "main", cwd, ...more })) {
      last = event;
      if (event.type !== "message" || event.message.role !== "toolResult") continue;
      const { content, isError } = event.message;
      results.push({
        text: content.map((part) => (part.type === "text" ? part.text : "")).join(""),
        isError,
      });
    }
    return { results, last };
  }

  async call(name: string, args: Record<string, unknown>, more: object = {}): Promise<Result> {
    const { results } = await this.turn({ toolCalls: [{ id: "c1", name, arguments: args }] }, more);
    assert.equal(results.length, 1);
    return results[0] as Result;
  }

  /** Names of the tools in the newest request to the model. */
  get offered(): string[] {
    const { tools = [] } = JSON.parse(this.model.requests.at(-1)?.text ?? "{}") as {
      tools?: { function: { name: string } }[];
    };
    return tools.map((tool) => tool.function.name);
  }

  async close(): Promise<void> {
    await this.pagurus.close();
    await this.model.close();
    await this.provider.close();
    this.setting.remove();
  }
}

describe("the tools for images and sound", () => {
  let bench: ToolBench;
  before(async () => {
    bench = await ToolBench.open({ surfaces: { ...SURFACES, voice: "sage" } });
  });
  after(() => bench.close());

  const at = (path: string): string => join(bench.setting.workspace, path);

  it("make an image of a prompt, in the format of the file's name", async () => {
    const args = { prompt: "a crab", path: "art/crab.webp", size: "1024x1024" };
    const { text, isError } = await bench.call("generate_image", args);
    assert.equal(isError, false, text);
    assert.match(text, /^Created "art\/crab\.webp": \d+ bytes\.$/);
    assert.equal(readFileSync(at("art/crab.webp")).toString("base64"), PIXEL);
    assert.deepEqual(bench.provider.requests.at(-1)?.fields, {
      model: "paints",
      prompt: "a crab",
      n: 1,
      size: "1024x1024",
      output_format: "webp",
    });
  });

  it("speak a text with the configured voice, or the one of the call", async () => {
    await bench.call("speak", { text: "Hello.", path: "hello.mp3" });
    assert.ok(readFileSync(at("hello.mp3")).equals(SPOKEN));
    const fields = { model: "speaks", input: "Hello.", voice: "sage", response_format: "mp3" };
    assert.deepEqual(bench.provider.requests.at(-1)?.fields, fields);
    await bench.call("speak", { text: "Hello.", path: "hello.wav", voice: "ash" });
    assert.equal(bench.provider.requests.at(-1)?.fields["voice"], "ash");
    const refused = await bench.call("speak", { text: "Hello.", path: "hello.txt" });
    assert.match(refused.text, /has to end with one of/);
  });

  it("return the words of a sound file", async () => {
    writeFileSync(at("said.mp3"), SPOKEN);
    const { text, isError } = await bench.call("transcribe_audio", { path: "said.mp3", language: "en" });
    assert.deepEqual({ text, isError }, { text: WORDS, isError: false });
    const fields = bench.provider.requests.at(-1)?.fields;
    assert.equal(fields?.["file"], SPOKEN.toString("latin1"));
    assert.equal(fields["language"], "en");
  });

  it("cost the turn that calls them", async () => {
    const step = {
      toolCalls: [{ id: "c1", name: "generate_image", arguments: { prompt: "x", path: "x.png" } }],
    };
    const { last } = await bench.turn(step);
    assert.equal(last?.type, "turn.completed");
    assert.equal(last.cost?.turn, 0.04);
  });

  it("name the model of a request whose price is not known beside the cost of the turn", async () => {
    const other = await ToolBench.open({ surfaces: { images: "lab/unpriced" } });
    try {
      const step = {
        toolCalls: [{ id: "c1", name: "generate_image", arguments: { prompt: "x", path: "x.png" } }],
      };
      const { last } = await other.turn(step);
      assert.equal(last?.type, "turn.completed");
      assert.equal(last.cost?.turn, 0);
      assert.deepEqual(last.cost.unpriced, ["lab/unpriced"]);
      assert.match(turnGauge({ cost: last.cost }) ?? "", /without lab\/unpriced, whose price is not known/);
    } finally {
      await other.close();
    }
  });

  it("stay inside the workspace, also by a link, and away from closed places", async () => {
    const outside = join(bench.setting.root, "outside");
    mkdirSync(outside);
    writeFileSync(join(bench.setting.home, "voice.mp3"), SPOKEN);
    symlinkSync(outside, at("link"));
    const before = bench.provider.requests.length;
    for (const [name, args] of [
      ["generate_image", { prompt: "x", path: "../outside/x.png" }],
      ["generate_image", { prompt: "x", path: "link/x.png" }],
      ["speak", { text: "x", path: "link/x.mp3" }],
      ["speak", { text: "x", path: join(bench.setting.home, "x.mp3") }],
      ["transcribe_audio", { path: join(bench.setting.home, "voice.mp3") }],
    ] as const) {
      const { text, isError } = await bench.call(name, args);
      assert.equal(isError, true, `${name} ${JSON.stringify(args)}`);
      assert.match(text, /Permission denied/);
    }
    assert.equal(existsSync(join(outside, "x.png")), false);
    assert.equal(bench.provider.requests.length, before);
  });

  it("ask no provider for a file that cannot be written, and make no folder for one that was not made", async () => {
    const before = bench.provider.requests.length;
    mkdirSync(at("folder.png"));
    writeFileSync(at("file"), "");
    for (const [path, why] of [
      ["folder.png", /"folder\.png" is (?:a folder|not a regular file)/],
      ["file/x.png", /A part of "file\/x\.png" is a file, not a folder/],
      ["file/deeper/x.png", /A part of "file\/deeper\/x\.png" is a file, not a folder/],
    ] as const) {
      const { text, isError } = await bench.call("generate_image", { prompt: "x", path });
      assert.equal(isError, true, path);
      assert.match(text, why);
    }
    assert.equal(bench.provider.requests.length, before);
    bench.provider.fail(400, { message: "No." });
    await bench.call("generate_image", { prompt: "x", path: "unmade/x.png" });
    bench.provider.recover();
    assert.equal(existsSync(at("unmade")), false);
  });

  it("write nothing in the mode read-only, and before a person has agreed", async () => {
    const before = bench.provider.requests.length;
    for (const permission of ["read-only", "deny", "ask"] as const) {
      const { text } = await bench.call("generate_image", { prompt: "x", path: "no.png" }, { permission });
      assert.match(text, /Permission denied/);
    }
    assert.equal(existsSync(at("no.png")), false);
    assert.equal(bench.provider.requests.length, before);
  });

  it("report the provider's error to the model, without the key", async () => {
    bench.provider.fail(400, { message: `Too dark for ${SURFACE_KEY}.` });
    const { text, isError } = await bench.call("generate_image", { prompt: "x", path: "dark.png" });
    bench.provider.recover();
    assert.equal(isError, true);
    assert.match(text, /refused the request for the model "paints" \(HTTP 400\): Too dark/);
    assert.ok(!text.includes(SURFACE_KEY), text);
    assert.equal(existsSync(at("dark.png")), false);
  });

  it("are refused by a cost limit before anything is sent", async () => {
    const before = bench.provider.requests.length;
    const args = { prompt: "x", path: "costly.png" };
    const { text, isError } = await bench.call("generate_image", args, { maxCost: 0.03 });
    assert.equal(isError, true);
    assert.match(text, /the turn has cost \$0 of \$0\.03, and 1 image of lab\/paints would cost \$0\.04/);
    assert.equal(bench.provider.requests.length, before);
  });

  it("are offered only where a model is configured for them", async () => {
    assert.deepEqual(
      bench.offered.filter((name) => TOOLS.includes(name)),
      TOOLS,
    );
    for (const [surfaces, expected] of [
      [undefined, []],
      [{ speech: "lab/speaks" }, ["speak"]],
    ] as const) {
      const other = await ToolBench.open(surfaces ? { surfaces } : {});
      try {
        await other.turn({ text: "done" });
        assert.deepEqual(
          other.offered.filter((name) => TOOLS.includes(name)),
          expected,
        );
      } finally {
        await other.close();
      }
    }
  });
});
