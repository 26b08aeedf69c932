/** Chats of client libraries with `pagurus serve` in front of a model of each protocol: each is one session, and the model gets all of it. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { byLength } from "../../runner/short-form.ts";
import { ServeProcess } from "../../server/serve-setting.ts";
import {
  startServer,
  type ModelServer,
  type Protocol,
  type RecordedRequest,
  type ReplyStep,
} from "../../servers/server.ts";
import { finish, makeSetting, modelConfig, type Setting } from "../../turn/setting.ts";
import { readBody } from "../../turn/wire-bodies.ts";
import { PNG } from "../model-api/samples.ts";
import { AGENTS } from "./agents-chats.ts";
import { AI } from "./ai-chats.ts";
import { ANTHROPIC } from "./anthropic-chats.ts";
import { LANGCHAIN } from "./langchain-chats.ts";
import type { Kind, Library, LibraryChat, Turn } from "./library-chat.ts";
import { OPENAI } from "./openai-chats.ts";

const LIBRARIES: readonly Library[] = [...OPENAI, ...ANTHROPIC, ...AI, ...AGENTS, ...LANGCHAIN];
const PROTOCOLS: readonly Protocol[] = [
  "openai-completions",
  "openai-responses",
  "anthropic-messages",
  "google",
];
const TURNS = byLength(20, 10, 10);
const KINDS: readonly Kind[] = ["plain", "stream", "tools", "format", "image"];
/** Turns whose first try is aborted while the answer streams. */
const ABORT_EVERY = 5;

function turnsOf(chat: string): Turn[] {
  return Array.from({ length: TURNS }, (_, at) => {
    const kind = KINDS[at % KINDS.length] ?? "plain";
    return { kind, text: `${kind} question ${at} of ${chat}` };
  });
}

function answerTo({ kind, text }: Turn): string {
  if (kind === "format") return JSON.stringify({ city: text });
  if (kind === "tools") return `Results for ${text}: look at ${text}: crab; hear at ${text}: crab`;
  return `Answer to ${text}`;
}

/** Google's protocol has an object as a result. */
function resultText(text: string): string {
  return text.startsWith("{") ? String((JSON.parse(text) as { content: unknown }).content) : text;
}

/** Answers by the words of the newest input. */
function answered(protocol: Protocol, request: RecordedRequest): ReplyStep {
  const { messages, tools } = readBody(protocol, request);
  const last = messages.findLastIndex(({ role, text }) => role === "user" && text !== "");
  const text = messages[last]?.text ?? "";
  if (text.startsWith("format")) {
    const args = { city: text };
    // A model that takes a schema in no other way is asked for it as a call.
    if (tools.includes("json"))
      return { toolCalls: [{ id: `call_json_${text.length}`, name: "json", arguments: args }] };
    return { text: JSON.stringify(args) };
  }
  if (!text.startsWith("tools")) return { text: `Answer to ${text}`, chunkSize: 4 };
  const results = messages
    .slice(last)
    .flatMap((message) => message.results.map((result) => resultText(result.text)));
  if (results.length > 0) return { text: `Results for ${text}: ${results.join("; ")}` };
  const call = (name: string): object => ({
    id: `call_${name}_${text.replaceAll(/\W/g, "_")}`.slice(0, 40),
    name,
    arguments: { at: text },
  });
  return { toolCalls: [call("look"), call("hear")] as NonNullable<ReplyStep["toolCalls"]> };
}

for (const protocol of PROTOCOLS)
  describe(`client libraries and a model of ${protocol}`, () => {
    let model: ModelServer;
    let setting: Setting;
    let server: ServeProcess;
    /** The text whose next answer begins and then waits. */
    let hanging = "";
    let hangs: PromiseWithResolvers<void> | undefined;
    before(async () => {
      model = await startServer({
        protocol,
        script: (request) => {
          const step = answered(protocol, request);
          if (hangs === undefined || !request.text.includes(hanging)) return step;
          const begun = hangs;
          hangs = undefined;
          begun.resolve();
          return { ...step, hangAfterChunks: 3 };
        },
      });
      setting = makeSetting(
        modelConfig(protocol, model.url, {
          contextWindow: 200_000,
          maxTokens: 4_000,
          input: ["text", "image"],
        }),
      );
      server = await ServeProcess.start(setting);
    });
    after(async () => {
      await server.kill();
      await model.close();
      setting.remove();
    });

    async function sessions(): Promise<string[]> {
      const { body } = await server.call("GET", "/api/v1/sessions?limit=1000");
      return (body["sessions"] as { key: string }[]).map(({ key }) => key);
    }

    async function open(library: Library): Promise<LibraryChat> {
      const token = await finish(setting, [
        "token",
        "create",
        "--name",
        library.name.replaceAll(/\W+/g, "-"),
      ]);
      return library.open({ url: `${server.url}/v1`, key: token.stdout.trim(), model: "test/model" });
    }

    /** The same question, left while its answer comes. */
    async function aborted(chat: LibraryChat, turn: Turn): Promise<void> {
      hanging = turn.text;
      const begun = (hangs = Promise.withResolvers<void>());
      const controller = new AbortController();
      const asked = assert.rejects(chat.ask(turn, controller.signal));
      await begun.promise;
      controller.abort();
      await asked;
    }

    function assertComplete(turns: readonly Turn[]): void {
      const request = model.requests.at(-1);
      assert.ok(request);
      const words = readBody(protocol, request)
        .messages.map(({ text }) => text)
        .join("\n");
      let from = 0;
      for (const [at, turn] of turns.entries()) {
        const asked = words.indexOf(turn.text, from);
        assert.ok(asked >= 0, `turn ${at} "${turn.text}" is in its place: ${words.slice(from, from + 400)}`);
        if (at === turns.length - 1) break;
        const said = words.indexOf(
          turn.kind === "format" ? turn.text : answerTo(turn).slice(0, 40),
          asked + 1,
        );
        assert.ok(said >= 0, `the answer of turn ${at}`);
        from = said;
      }
      if (turns.some(({ kind }) => kind === "image")) assert.ok(request.text.includes(PNG), "the image");
    }

    for (const library of LIBRARIES)
      it(`${library.name}: ${TURNS} turns with tools, formats, images, streams and aborts are one session`, async () => {
        const before = await sessions();
        const chat = await open(library);
        const turns = turnsOf(library.name.replaceAll(/\W+/g, " "));
        for (const [at, turn] of turns.entries()) {
          if (turn.kind === "stream" && at % ABORT_EVERY === 1) await aborted(chat, turn);
          assert.equal(await chat.ask(turn), answerTo(turn), `turn ${at}`);
        }
        assertComplete(turns);
        const made = (await sessions()).filter((key) => !before.includes(key));
        assert.equal(made.length, 1, made.join(", "));
      });
  });
