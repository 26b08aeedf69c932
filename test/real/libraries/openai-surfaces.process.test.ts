/** The package `openai` against `pagurus serve`: embeddings, images, speech, transcripts and translations of a provider with an API key. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { PIXEL, SPOKEN, SURFACE_KEY, WORDS } from "../../servers/surface-server.ts";
import { SurfaceSetting } from "../../server/surfaces-setting.ts";
import { load } from "./library-chat.ts";

interface Images {
  data: { b64_json: string }[];
  usage: { output_tokens: number };
}

/** The parts of the package that are called here. */
interface SurfaceClient {
  embeddings: {
    create(asked: object): Promise<{ data: { embedding: number[] | Float32Array }[]; usage: object }>;
  };
  images: {
    generate(asked: object): Promise<Images & AsyncIterable<{ type: string; b64_json: string }>>;
    edit(asked: object): Promise<Images>;
  };
  audio: {
    speech: { create(asked: object, how?: object): Promise<Response> };
    transcriptions: { create(asked: object): Promise<{ text: string; usage: object } & string> };
    translations: { create(asked: object): Promise<{ text: string }> };
  };
  models: { list(): AsyncIterable<{ id: string }> };
}

interface Library {
  default: new (options: object) => SurfaceClient;
  toFile(bytes: Buffer, name: string, options?: object): Promise<object>;
}

describe("the package openai at the direct surfaces", () => {
  let setting: SurfaceSetting;
  let client: SurfaceClient;
  let library: Library;
  before(async () => {
    setting = await SurfaceSetting.start();
    library = await load<Library>("openai");
    const apiKey = await setting.token("--name", "openai", "--scope", "chat");
    client = new library.default({ apiKey, baseURL: `${setting.server.url}/v1`, maxRetries: 0 });
  });
  after(() => setting.close());

  it("gets vectors, in the form of bytes that it asks for by itself and as numbers", async () => {
    const asked = { model: "lab/embeds", input: ["one", "two"] };
    for (const encoding_format of [undefined, "float"]) {
      const { data, usage } = await client.embeddings.create({
        ...asked,
        ...(encoding_format ? { encoding_format } : {}),
      });
      assert.equal(data.length, 2);
      assert.equal(data[0]?.embedding.length, 256);
      assert.equal(data[0].embedding[128], 0.5);
      assert.deepEqual(usage, { prompt_tokens: 14, total_tokens: 14 });
    }
  });

  it("makes, streams and edits images", async () => {
    const asked = { model: "lab/paints", prompt: "a crab" };
    const made = await client.images.generate({ ...asked, n: 2, size: "1024x1024" });
    assert.deepEqual(
      made.data.map(({ b64_json }) => b64_json),
      [PIXEL, PIXEL],
    );
    assert.equal(made.usage.output_tokens, 4_160);
    const types: string[] = [];
    for await (const { type } of await client.images.generate({ ...asked, stream: true })) types.push(type);
    assert.deepEqual(types, ["image_generation.partial_image", "image_generation.completed"]);
    const bytes = Buffer.from(PIXEL, "base64");
    const image = [
      await library.toFile(bytes, "one.png", { type: "image/png" }),
      await library.toFile(bytes, "two.png", { type: "image/png" }),
    ];
    const edited = await client.images.edit({ ...asked, image });
    assert.equal(edited.data[0]?.b64_json, PIXEL);
    const sent = setting.provider.requests.at(-1);
    assert.equal(sent?.fields["image[]"], bytes.toString("latin1"));
    assert.equal(sent.fields["model"], "paints");
  });

  it("speaks, and transcribes that, as JSON and as text", async () => {
    const spoken = await client.audio.speech.create({ model: "lab/speaks", input: "Hello.", voice: "alloy" });
    const bytes = Buffer.from(await spoken.arrayBuffer());
    assert.ok(bytes.equals(SPOKEN));
    const file = async (): Promise<object> => library.toFile(bytes, "said.mp3");
    const transcript = await client.audio.transcriptions.create({ model: "lab/writes", file: await file() });
    assert.equal(transcript.text, WORDS);
    assert.deepEqual(transcript.usage, { type: "duration", seconds: 30 });
    const response_format = "text";
    const plain = await client.audio.transcriptions.create({
      model: "lab/writes",
      file: await file(),
      response_format,
    });
    assert.equal(String(plain), `${WORDS}\n`);
    const translated = await client.audio.translations.create({ model: "lab/writes", file: await file() });
    assert.equal(translated.text, WORDS);
    assert.equal(setting.provider.requests.at(-1)?.fields["file"], SPOKEN.toString("latin1"));
  });

  it("shows errors of the provider and of the server as its own, and leaves the request at an abort", async () => {
    setting.provider.fail(429, { message: "Slow down.", type: "requests", code: "rate_limit_exceeded" });
    const asked = { model: "lab/embeds", input: "x" };
    await assert.rejects(client.embeddings.create(asked), {
      name: "Error",
      status: 429,
      code: "rate_limit_exceeded",
    });
    setting.provider.recover();
    await assert.rejects(client.embeddings.create({ ...asked, model: "lab/talks" }), { status: 404 });
    const held = setting.provider.hold();
    const controller = new AbortController();
    const speech = { model: "lab/speaks", input: "slow", voice: "alloy" };
    const answer = await client.audio.speech.create(speech, { signal: controller.signal });
    const { left } = await held.begun;
    controller.abort();
    await assert.rejects(answer.arrayBuffer());
    await left;
    held.release();
  });

  it("finds the models in the list, and sends the host's key and never its own", async () => {
    const ids: string[] = [];
    for await (const { id } of client.models.list()) ids.push(id);
    for (const id of ["lab/embeds", "lab/paints", "lab/speaks", "lab/writes"])
      assert.ok(ids.includes(id), id);
    const keys = new Set(setting.provider.requests.map(({ headers }) => headers.authorization));
    assert.deepEqual([...keys], [`Bearer ${SURFACE_KEY}`]);
  });
});
