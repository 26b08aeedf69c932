import assert from "node:assert/strict";
import { test } from "node:test";
import { outcomeOf } from "../../../packages/host/src/mcp/client/mcp-result.ts";
import { textOf } from "./hosted.ts";

test("structured content is added when the text parts do not contain it", () => {
  const structuredContent = { degrees: 21 };
  assert.equal(textOf(outcomeOf({ content: [], structuredContent })), '{\n  "degrees": 21\n}');
  const text = { type: "text", text: "21 degrees" };
  assert.equal(
    textOf(outcomeOf({ content: [text], structuredContent })),
    '21 degrees\n{\n  "degrees": 21\n}',
  );
  assert.equal(textOf(outcomeOf({})), "(no output)");
});

test("an error result stays an error", () => {
  assert.equal(outcomeOf({ content: [{ type: "text", text: "no" }], isError: true }).isError, true);
});

test("an image has the type of its bytes, and invalid images are only named", () => {
  const jpeg = Buffer.from([0xff, 0xd8, 0xff, 0xe0, 1, 2, 3, 4, 5, 6, 7, 8]).toString("base64");
  const webp = Buffer.from("RIFF1234WEBPVP8 ").toString("base64");
  const { content } = outcomeOf({
    content: [
      { type: "image", data: jpeg, mimeType: "image/png" },
      { type: "image", data: webp, mimeType: "image/webp" },
      { type: "image", data: `${jpeg}!`, mimeType: "image/jpeg" },
      { type: "image", data: "A".repeat(8_000_000), mimeType: "image/png" },
      { type: "resource", resource: { uri: "a://b", blob: jpeg } },
      { type: "audio", data: "AAAA", mimeType: "audio/wav" },
      { type: "resource_link", uri: "a://c", name: "c", description: "the third" },
      { type: "novelty" },
    ],
  });
  assert.deepEqual(
    content.map((part) => (part.type === "image" ? part.mimeType : part.text)),
    [
      "image/jpeg",
      "image/webp",
      "[image of 12 bytes (image/jpeg) left out: it cannot be shown to the model]",
      "[image of 6000000 bytes (image/png) left out: it cannot be shown to the model]",
      "image/jpeg",
      "[sound of 3 bytes (audio/wav) left out: it cannot be shown to the model]",
      "[resource a://c: c, the third]",
      '[a part of the type "novelty" left out]',
    ],
  );
});

test("a flood of text and images is cut: head, tail and the first images stay", () => {
  const png = `iVBORw0KGgo${"A".repeat(20)}`;
  const content = [
    ...Array.from({ length: 3 }, (_, index) => ({ type: "text", text: String(index).repeat(60_000) })),
    ...Array.from({ length: 12 }, () => ({ type: "image", data: png, mimeType: "image/png" })),
  ];
  const outcome = outcomeOf({ content });
  assert.equal(outcome.content.filter(({ type }) => type === "image").length, 10);
  const [text] = outcome.content;
  assert.ok(text?.type === "text" && text.text.length < 100_100);
  assert.match(
    text.text,
    /^0{50000}\n\[… \d+ characters left out …\]\n2*\n?[^]*left out: it cannot be shown to the model\]$/,
  );
  assert.deepEqual(outcome.details, { cut: true });
});

test("images that would fill a request on their own are left out", () => {
  const data = `iVBORw0KGgo${"A".repeat(5_000_001)}`;
  const { content } = outcomeOf({ content: Array.from({ length: 4 }, () => ({ type: "image", data })) });
  assert.deepEqual(
    content.map(({ type }) => type),
    ["image", "image", "text", "text"],
  );
});

test("half characters are not sent in a request", () => {
  const [part] = outcomeOf({ content: [{ type: "text", text: "a\ud83d" }] }).content;
  assert.deepEqual(part, { type: "text", text: "a\ufffd" });
});

test("a bad part costs that part alone and is named", () => {
  const good = { type: "text", text: "good" };
  const bad: [unknown, string][] = [
    [{ type: "hologram", text: "x" }, '[a part of the type "hologram" left out]'],
    [
      { type: "image", data: "!", mimeType: "image/png" },
      "[image of 0 bytes (image/png) left out: it cannot be shown to the model]",
    ],
    [{ type: "image" }, "[image of 0 bytes (unknown type) left out: it cannot be shown to the model]"],
    [
      { type: "audio", data: 5 },
      "[sound of 0 bytes (unknown type) left out: it cannot be shown to the model]",
    ],
    [{ type: "text" }, "[a text part without text left out]"],
    [{ type: "text", text: { a: 1 } }, "[a text part without text left out]"],
    [{ type: "resource" }, "[a resource without content left out]"],
    [{ type: "resource", resource: { uri: "a://b" } }, "[the resource a://b without content left out]"],
    [{ text: "x" }, "[a part without a type left out]"],
    [null, "[a part that is no object left out]"],
    [[], "[a part that is no object left out]"],
    [7, "[a part that is no object left out]"],
  ];
  for (const [part, sentence] of bad)
    assert.equal(textOf(outcomeOf({ content: [good, part, good] })), `good\n${sentence}\ngood`);
});

test("content of a wrong type is read as far as it can be", () => {
  const structuredContent = { answer: 43 };
  assert.equal(textOf(outcomeOf({ content: null, structuredContent })), '{\n  "answer": 43\n}');
  assert.equal(textOf(outcomeOf({ content: "plain" })), "plain");
  assert.equal(textOf(outcomeOf({ content: { type: "text", text: "one" } })), "one");
  assert.equal(textOf(outcomeOf({ content: 5 })), "[a part that is no object left out]");
  assert.equal(outcomeOf({ content: "x", isError: "no" }).isError, false);
});

test("structured content is not repeated beside its own text", () => {
  const text = (words: string) => ({ type: "text", text: words });
  const shown = (structuredContent: unknown, ...words: string[]): number =>
    outcomeOf({ content: words.map(text), structuredContent }).content.length - words.length;
  assert.equal(shown({ n: 1 }, '{ "n": 1 }'), 0);
  assert.equal(shown({ result: "hello" }, "hello"), 0);
  assert.equal(shown({ result: [1, 2] }, "1", "2"), 0);
  assert.equal(shown({ result: ["a", "b"] }, "a", "b"), 0);
  assert.equal(shown({ message: "pong", secret: 77 }, "ok"), 1);
  assert.equal(shown({ result: "other" }, "hello"), 1);
});
