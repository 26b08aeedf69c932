import assert from "node:assert/strict";
import { test } from "node:test";
import { outcomeOf } from "../../../src/mcp/client/mcp-result.ts";
import { textOf } from "./hosted.ts";

test("structured content is added when the text parts do not contain it", () => {
  const structuredContent = { degrees: 21 };
  assert.equal(textOf(outcomeOf({ content: [], structuredContent })), '{\n  "degrees": 21\n}');
  const text = { type: "text", text: "21 degrees" };
  assert.equal(textOf(outcomeOf({ content: [text], structuredContent })), "21 degrees");
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
