import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { formBody } from "../../../packages/server/src/model-api/surfaces/surface-body.ts";
import { boundaryOf, formParts } from "../../../packages/server/src/model-api/surfaces/multipart.ts";

/** A form as undici, the client of Node and of the package `openai`, encodes it. */
async function encoded(fields: readonly [string, string | Blob][]): Promise<{ type: string; body: Buffer }> {
  const form = new FormData();
  for (const [name, value] of fields) form.append(name, value as string);
  const request = new Request("http://localhost", { method: "POST", body: form });
  return {
    type: request.headers.get("content-type") ?? "",
    body: Buffer.from(await request.arrayBuffer()),
  };
}

async function decoded(type: string, body: Buffer): Promise<[string, string][]> {
  const request = new Request("http://localhost", {
    method: "POST",
    headers: { "content-type": type },
    body: Uint8Array.from(body),
  });
  const found: [string, string][] = [];
  for (const [name, value] of await request.formData())
    found.push([
      name,
      typeof value === "string" ? value : Buffer.from(await value.arrayBuffer()).toString("latin1"),
    ]);
  return found;
}

const SOUND = Buffer.from(Array.from({ length: 5_000 }, (_, at) => (at * 7) % 256));

describe("a form of a direct surface", () => {
  it("keeps every byte but the model's name, wherever that is", async () => {
    const file = new File([SOUND], 'a "sound".mp3');
    for (const order of [
      [
        ["file", file],
        ["model", "lab/writes"],
        ["prompt", "\r\n--almost a boundary"],
      ],
      [
        ["model", "lab/writes"],
        ["prompt", ""],
        ["file", file],
      ],
    ] as [string, string | Blob][][]) {
      const { type, body } = await encoded(order);
      const read = formBody(body, "transcription", type);
      assert.equal(read.model, "lab/writes");
      assert.equal(read.ask.sound?.bytes, SOUND.length);
      const sent = Buffer.concat(await read.withModel("whisper"));
      const expected = (await decoded(type, body)).map(([name, value]) => [
        name,
        name === "model" ? "whisper" : value,
      ]);
      assert.deepEqual(await decoded(type, sent), expected);
      assert.equal(sent.length, body.length - "lab/writes".length + "whisper".length);
    }
  });

  it("is read with a quoted boundary, a preamble, and an empty part", () => {
    const body = Buffer.from(
      'before\r\n--b c\r\ncontent-disposition: form-data; name="a"\r\n\r\n\r\n--b c  \r\nContent-Disposition: form-data; name=b; filename=x\r\n\r\n1\r\n2\r\n--b c--\r\nafter',
    );
    assert.equal(boundaryOf('multipart/form-data; boundary="b c"'), "b c");
    assert.deepEqual(
      formParts(body, "b c").map(({ name, isFile, start, end }) => [
        name,
        isFile,
        body.toString("utf8", start, end),
      ]),
      [
        ["a", false, ""],
        ["b", true, "1\r\n2"],
      ],
    );
  });

  it("has no boundary in a longer one, so that the next real part is not hidden", () => {
    const part = (name: string, value: string): string =>
      `Content-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
    const named = (body: string): string[] =>
      formParts(Buffer.from(body), "b").map(({ name, start, end }) => `${name}=${body.slice(start, end)}`);
    const inner = "1\r\n--b2\r\n--b-x\r\n--b \t2";
    assert.deepEqual(named(`--b\r\n${part("a", inner)}--b \t\r\n${part("model", "m")}--b--`), [
      `a=${inner}`,
      "model=m",
    ]);
    // A strict reader sees two models: the head that begins at `--b2` would run across the second one's boundary.
    const hidden = `--b\r\n${part("model", "cheap")}--b\r\n${part("x", "1\r\n--b2")}--b\r\n${part("model", "dear")}--b--\r\n`;
    assert.deepEqual(named(hidden), ["model=cheap", "x=1\r\n--b2", "model=dear"]);
    assert.throws(() => formBody(Buffer.from(hidden), "embeddings", "multipart/form-data; boundary=b"), {
      name: "WireCallError",
    });
  });

  it("is refused with a boundary in a head, before the first part, or after the last", () => {
    const model = 'Content-Disposition: form-data; name="model"\r\n\r\nm\r\n';
    for (const body of [
      `--b\r\nContent-Disposition: form-data; name="a"\r\n--b\r\n${model}--b--`,
      `--b\n${model}\r\n--b\r\n${model}--b--`,
      `--b2\r\n${model}--b\r\n${model}--b--`,
      `--b\r\n${model}--b--\r\n--b\r\n${model}--b--`,
    ])
      assert.throws(() => formParts(Buffer.from(body), "b"), { name: "WireCallError" }, body);
    assert.equal(formParts(Buffer.from(`--b\r\n${model}--b--\r\n`), "b").length, 1);
  });

  it("is read or refused in one sentence, however its bytes were changed", async () => {
    const { type, body } = await encoded([
      ["file", new File([SOUND.subarray(0, 50)], "x.mp3")],
      ["model", "lab/writes"],
    ]);
    const change = fc.tuple(fc.nat(body.length), fc.nat(30), fc.uint8Array({ maxLength: 30 }));
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 4 }), (changes) => {
        const changed = changes.reduce(
          (bytes, [at, length, put]) =>
            Buffer.concat([bytes.subarray(0, at), put, bytes.subarray(at + length)]),
          body,
        );
        try {
          assert.notEqual(formBody(changed, "transcription", type).model, "");
        } catch (error) {
          assert.equal((error as Error).name, "WireCallError");
        }
      }),
    );
  });

  it("is refused in one sentence where it has no parts, no end, two models, or too many parts", async () => {
    const { type, body } = await encoded([
      ["model", "a"],
      ["model", "b"],
      ["file", new File(["x"], "x.mp3")],
    ]);
    const refused = (bytes: Buffer, kind = type): void =>
      assert.throws(() => formBody(bytes, "transcription", kind), { name: "WireCallError" });
    refused(body);
    refused(body.subarray(0, -20));
    refused(Buffer.from("no form"));
    refused(Buffer.alloc(0));
    refused(body, "multipart/form-data");
    const many = Array.from({ length: 101 }, (_, at): [string, string] => [`f${at}`, ""]);
    const crowded = await encoded([["model", "a"], ...many]);
    refused(crowded.body, crowded.type);
    const silent = await encoded([["model", "lab/writes"]]);
    refused(silent.body, silent.type);
  });
});
