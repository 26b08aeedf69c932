/** Images of earlier messages in the seam `projection`. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { AgentMessage, ImagePart } from "../../packages/contract/src/message.ts";
import { fencedContext } from "../../packages/core/src/native/native-words.ts";
import {
  imageParts,
  imagesLeftOut,
  projectedImages,
} from "../../packages/core/src/native/projected-images.ts";
import { messageTokens } from "../../packages/core/src/tokens/message-tokens.ts";
import { lostImages, promptBlocks } from "../../packages/runtimes/src/acp/acp-projection.ts";
import { projectContextEngineAssemblyForCodex } from "../../packages/runtimes/src/codex/codex-projection.ts";

function image(data: string): ImagePart {
  return { type: "image", data, mimeType: "image/png" };
}

function shown(...data: string[]): AgentMessage {
  return { role: "user", content: [{ type: "text", text: "See" }, ...data.map(image)] };
}

function result(id: string, data: string): AgentMessage {
  return { role: "toolResult", toolCallId: id, toolName: "read", content: [image(data)], isError: false };
}

/** Data of the images that are sent, in order. */
function sent(messages: readonly AgentMessage[]): string[] {
  return imageParts(projectedImages(messages, true)).flatMap((part) =>
    part.type === "image" ? part.data : [],
  );
}

describe("images of earlier messages", () => {
  it("are sent beside the text, of users and of results alike, each below the number by which the text names it", () => {
    const messages = [shown("AA"), result("c1", "BB")];
    const images = projectedImages(messages, true);
    assert.equal(
      fencedContext(messages, images),
      "<conversation_context>\n[user]\nSee\n[image 1]\n\n[tool result c1]\n[image 2]\n</conversation_context>",
    );
    assert.deepEqual(imageParts(images), [
      { type: "text", text: "[image 1]" },
      image("AA"),
      { type: "text", text: "[image 2]" },
      image("BB"),
    ]);
    assert.equal(imagesLeftOut(images, undefined), undefined);
  });

  it("are sent once where they occur twice", () => {
    const messages = [shown("AA"), shown("BB"), shown("AA")];
    assert.deepEqual(sent(messages), ["AA", "BB"]);
    const text = fencedContext(messages, projectedImages(messages, true)) ?? "";
    assert.equal(text.split("[image 1]").length, 3);
  });

  it("keep their numbers when the conversation grows", () => {
    const messages = Array.from({ length: 30 }, (_, index) => shown(`I${index}`));
    const [before, after] = [messages.slice(0, 20), messages].map(
      (some) => projectedImages(some, true).known,
    );
    assert.equal(before?.size, 20);
    for (const [data, image] of before) assert.equal(after?.get(data)?.number, image.number);
  });

  it("within bounds of number, bytes and tokens are the newest ones, and the rest are named as not shown", () => {
    const large = "A".repeat(3 * 1024 * 1024);
    assert.deepEqual(sent([shown("old"), shown(`1${large}`), shown(`2${large}`), shown(`3${large}`)]), [
      `2${large}`,
      `3${large}`,
    ]);
    const many = Array.from({ length: 40 }, (_, index) => shown(`I${index}`));
    const kept = sent(many);
    assert.deepEqual(
      kept,
      many
        .slice(-kept.length)
        .flatMap(({ content }) => (content as ImagePart[]).flatMap(({ data }) => data ?? [])),
    );
    const tokens = kept.reduce(
      (sum, data) => sum + messageTokens({ role: "user", content: [image(data)] }),
      0,
    );
    assert.ok(kept.length > 5 && kept.length <= 20 && tokens <= 20_000, `${kept.length} ${tokens}`);
    const images = projectedImages(many, true);
    assert.match(fencedContext(many, images) ?? "", /^\[image 1, not shown\]$/m);
    assert.match(
      imagesLeftOut(images, undefined) ?? "",
      new RegExp(
        `^${40 - kept.length} images of earlier messages are only named in the text: a prompt has at most`,
      ),
    );
  });

  it("give the same parts for the same messages, and never an older one for a newer one", () => {
    const list = fc.array(fc.tuple(fc.integer({ min: 0, max: 8 }), fc.integer({ min: 1, max: 4 })), {
      maxLength: 40,
    });
    fc.assert(
      fc.property(list, (pieces) => {
        const messages = pieces.map(([name, size]) => shown(`${name}-${size}-`.padEnd(size * 700_000, "A")));
        const one = sent(messages);
        assert.deepEqual(sent(structuredClone(messages)), one);
        const byAge = [
          ...new Set(messages.toReversed().flatMap(({ content }) => (content as ImagePart[])[1]?.data ?? [])),
        ];
        assert.deepEqual(new Set(byAge.slice(0, one.length)), new Set(one));
        assert.ok(one.reduce((sum, data) => sum + data.length, 0) <= 8 * 1024 * 1024);
      }),
      { numRuns: 30 },
    );
  });
});

describe("the projection for Codex", () => {
  const input = {
    assembledMessages: [shown("AA")],
    originalHistoryMessages: [shown("AA")],
    prompt: "And now?",
  };

  it("has the images of the history before the text, which ends with the prompt", () => {
    const { images, promptText, imagesLeftOut: leftOut } = projectContextEngineAssemblyForCodex(input);
    assert.deepEqual(images, [{ type: "text", text: "[image 1]" }, image("AA")]);
    assert.match(promptText, /\[image 1\]\n<\/conversation_context>\n\nCurrent user request:\nAnd now\?$/);
    assert.equal(leftOut, undefined);
  });

  it("has none for a model that takes no images, and says so", () => {
    const noImages = "local/small is not known to take images";
    const projection = projectContextEngineAssemblyForCodex({ ...input, noImages });
    assert.deepEqual(projection.images, []);
    assert.match(projection.promptText, /\[image 1, not shown\]/);
    assert.equal(
      projection.imagesLeftOut,
      "1 image of earlier messages is only named in the text: local/small is not known to take images",
    );
  });
});

describe("the projection for an agent of ACP", () => {
  const projection = {
    instructions: undefined,
    context: [shown("AA")],
    continues: false,
    shownAgain: [],
    inputs: [{ role: "user" as const, content: [image("CC"), { type: "text" as const, text: "And now?" }] }],
  };

  it("has the images of the history between its text and the request, and those of the input in it", () => {
    const blocks = promptBlocks({ ...projection, takesImages: true });
    assert.deepEqual(
      blocks.map((block) =>
        block.type === "image" ? block.data : block.type === "text" ? block.text.split("\n").at(-1) : "",
      ),
      ["</conversation_context>", "[image 1]", "AA", "Current user request:", "CC", "And now?"],
    );
    assert.deepEqual(lostImages({ ...projection, takesImages: true }, "The agent"), []);
  });

  it("names each image that an agent without them does not get", () => {
    const blocks = promptBlocks({ ...projection, takesImages: false });
    assert.ok(blocks.every(({ type }) => type === "text"));
    assert.deepEqual(lostImages({ ...projection, takesImages: false }, "The agent"), [
      "1 image of earlier messages is only named in the text: The agent takes no images",
      "The agent takes no images, so 1 of the input was left out",
    ]);
  });
});
