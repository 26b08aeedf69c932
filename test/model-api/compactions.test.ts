import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import { afterEach, describe, it } from "node:test";
import { FULL } from "../runner/short-form.ts";
import { Spy, textOf } from "../real/wire/spy.ts";
import type { RecordedRequest } from "../servers/server.ts";
import { ApiBench } from "./setting.ts";

const TURNS = FULL ? 50 : 24;
/** Fewest compactions of the engine. */
const LEAST = FULL ? 4 : 2;
/** Of the model's window, tokens and characters. */
const WINDOW = 8_000;
const MOST = 4 * WINDOW;

interface Sent {
  role: string;
  content: string;
}

/** Not one for a summary. */
function isTurn({ body }: RecordedRequest): boolean {
  const last = (body["messages"] as Sent[]).at(-1);
  return last !== undefined && /^Question \d+\. (?:more )+$/.test(last.content);
}

describe("a client that resends everything, through compactions", () => {
  let bench: ApiBench;
  afterEach(() => bench.end());

  it("stays in one session, and the model gets what the engine says, never more than its window", async () => {
    const longest = { contextWindow: WINDOW, maxTokens: 1_000 };
    const spy = new Spy();
    /** The engine's context before each request of a turn. */
    const answers: Sent[][] = [];
    const script = (request: RecordedRequest, index: number): { text: string } => {
      const { messages = [] } = spy.last ?? {};
      if (isTurn(request))
        answers.push(messages.map((message) => ({ role: message.role, content: textOf(message) })));
      return { text: `Answer ${index}. ${"word ".repeat(500)}` };
    };
    bench = await ApiBench.open("openai-completions", script, longest, (context) => spy.make(context));
    const words: string[] = [];
    for (let turn = 0; turn < TURNS; turn++) {
      words.push(`Question ${turn}. ${"more ".repeat(300)}`);
      words.push(await bench.chat(words));
    }
    assert.equal(bench.sessionKeys().length, 1);
    const [key = ""] = bench.sessionKeys();
    assert.deepEqual(await bench.words(key), words);
    assert.ok(spy.compactions >= LEAST, `${spy.compactions} compactions`);
    const asked = bench.model.requests.filter(isTurn);
    assert.equal(asked.length, TURNS);
    for (const [turn, { body, text }] of asked.entries()) {
      // The host adds the new question to the engine's context.
      const whole = [...(answers[turn] ?? []), { role: "user", content: words[2 * turn] }];
      assert.ok(isDeepStrictEqual(body["messages"], whole), `turn ${turn}`);
      assert.ok(text.length < MOST, `${text.length} characters in turn ${turn}`);
    }
    assert.ok(words.join("").length > MOST);
  });
});
