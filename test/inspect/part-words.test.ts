/** The first words of a part, for a list: of each protocol's forms, and of any bytes. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { readableWords } from "../../packages/inspector/src/readable-words.ts";
import { wordsOf } from "../../packages/server/src/inspect/parts/part-words.ts";

type Source = Parameters<typeof wordsOf>[0]["source"];

function words(value: unknown, source: Source = "live"): string | undefined {
  const body = Buffer.from(typeof value === "string" ? value : JSON.stringify(value));
  return wordsOf({ source, from: 0, to: body.length }, body);
}

describe("the words of a part", () => {
  it("are the beginning of its text, in each protocol's form", () => {
    const text = 'Which "berths"\nare free?';
    for (const value of [
      JSON.stringify(text),
      { type: "text", text },
      { role: "user", content: text },
      { role: "user", content: [{ type: "input_text", text }] },
      { type: "tool_result", tool_use_id: "a", content: text },
      { type: "function_call_output", call_id: "c", output: text },
      { text },
    ])
      assert.equal(words(value), 'Which "berths" are free?', JSON.stringify(value));
  });

  it("are the name of a tool, and the name and arguments of a call", () => {
    const description = "long ".repeat(400);
    assert.equal(words({ description, name: "shell" }, "tools"), "shell");
    assert.equal(
      words({ type: "function", function: { name: "read_file", description } }, "tools"),
      "read_file",
    );
    assert.equal(
      words({ type: "tool_use", id: "t", name: "shell", input: { command: "ls" } }),
      'shell({"command":"ls"})',
    );
    assert.equal(
      words({
        role: "assistant",
        content: [{ type: "tool_use", id: "t", name: "shell", input: { a: "}" } }],
      }),
      'shell({"a":"}"})',
    );
    assert.equal(
      words({ type: "function_call", call_id: "c", name: "shell", arguments: '{"command":"ls"}' }),
      'shell({"command":"ls"})',
    );
  });

  it("are at most 100 characters of any part, whatever its bytes are", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), fc.nat(50), (text, from) => {
        const body = Buffer.from(text);
        const found = wordsOf({ source: "live", from: Math.min(from, body.length), to: body.length }, body);
        assert.ok(found === undefined || (found.length > 0 && found.length <= 100));
      }),
    );
  });

  it("are absent for the JSON between parts, and name an image", () => {
    assert.equal(words('{"messages":[', "framing"), undefined);
    assert.equal(words({ type: "image", source: { data: "AAAA" } }), "an image");
  });
});

describe("the readable words of a part", () => {
  it("are its text without quotes and escapes, also of a piece of it", () => {
    assert.equal(readableWords('"a\\nb \\u00e4 \\"c\\""'), 'a\nb ä "c"');
    assert.equal(readableWords("of it \\n and mo"), "of it \n and mo");
    assert.equal(readableWords('{"type":"text","text":"Hello."}'), "Hello.");
    assert.equal(
      readableWords(
        '{"role":"user","content":[{"type":"text","text":"One."},{"type":"text","text":"Two."}]}',
      ),
      "One.\n\nTwo.",
    );
  });

  it("are the name and the arguments of a call, and the size of data", () => {
    assert.equal(
      readableWords('{"type":"tool_use","id":"t","name":"shell","input":{"command":"ls","cwd":"/"}}'),
      "shell\ncommand: ls\ncwd: /",
    );
    assert.match(
      readableWords(JSON.stringify({ type: "image", data: "A".repeat(3_000) })),
      /3000 characters of data/,
    );
  });
});
