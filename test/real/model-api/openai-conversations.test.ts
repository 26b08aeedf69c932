/** The official openai package on what only a server with a memory can do: conversations, stored and background responses. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import { ApiBench } from "../../model-api/setting.ts";
import { sentWords } from "../../model-api/responses-setting.ts";
import { packageFile } from "../programs.ts";

/** The parts of the package that this file uses: it is installed for these tests only. */
interface Item {
  id: string;
  type: string;
  content?: { type: string; text?: string }[];
}
interface Answer {
  id: string;
  status: string;
  output_text: string;
  background: boolean;
  previous_response_id: string | null;
  conversation: { id: string } | null;
}
interface StreamEvent {
  type: string;
  sequence_number: number;
  response?: Answer;
}
interface Page<T> extends AsyncIterable<T> {
  data: T[];
}
interface Client {
  responses: {
    create(asked: object): Promise<Answer & AsyncIterable<StreamEvent>>;
    retrieve(id: string, query?: object): Promise<Answer & AsyncIterable<StreamEvent>>;
    cancel(id: string): Promise<Answer>;
    delete(id: string): Promise<void>;
    inputItems: { list(id: string, query?: object): Promise<Page<Item>> };
  };
  conversations: {
    create(asked: object): Promise<{ id: string; metadata: Record<string, string> }>;
    retrieve(id: string): Promise<{ id: string; metadata: Record<string, string> }>;
    update(id: string, asked: object): Promise<{ metadata: Record<string, string> }>;
    delete(id: string): Promise<{ deleted: boolean }>;
    items: {
      create(id: string, asked: object): Promise<Page<Item>>;
      list(id: string, query?: object): Promise<Page<Item>>;
      retrieve(itemId: string, place: object): Promise<Item>;
      delete(itemId: string, place: object): Promise<{ id: string }>;
    };
  };
}
type Library = {
  default: new (options: { apiKey: string; baseURL: string; maxRetries: number }) => Client;
  NotFoundError: new () => Error;
};

const model = "test/model";

function textOf({ content }: Item): string {
  return (content ?? []).map(({ text }) => text ?? "").join("");
}

async function all<T>(page: Promise<Page<T>>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of await page) items.push(item);
  return items;
}

describe("the openai package's conversations and stored responses", () => {
  let bench: ApiBench;
  let library: Library;
  let client: Client;
  beforeEach(async () => {
    bench = await ApiBench.open("openai-responses", (_, index) => ({ text: `Answer ${index}.` }));
    library = (await import(pathToFileURL(packageFile("openai", "index.mjs")).href)) as Library;
    client = new library.default({ apiKey: "one", baseURL: bench.url, maxRetries: 0 });
  });
  afterEach(() => bench.end());

  it("conversations: a chat whose history only the server has", async () => {
    const items = [{ type: "message", role: "user", content: "We are at sea." }];
    const { id } = await client.conversations.create({ items, metadata: { topic: "sea" } });
    const first = await client.responses.create({ model, input: "Hello.", conversation: id });
    assert.equal(first.output_text, "Answer 0.");
    assert.deepEqual(first.conversation, { id });
    await client.responses.create({ model, input: "More.", conversation: { id } });
    assert.deepEqual(sentWords(bench.model, 1), ["We are at sea.", "Hello.", "Answer 0.", "More."]);
    const listed = await all(client.conversations.items.list(id, { order: "asc", limit: 2 }));
    assert.deepEqual(listed.map(textOf), ["We are at sea.", "Hello.", "Answer 0.", "More.", "Answer 1."]);
    assert.equal((await client.conversations.retrieve(id)).metadata["topic"], "sea");
    const updated = await client.conversations.update(id, { metadata: { topic: "land" } });
    assert.equal(updated.metadata["topic"], "land");
    const added = await client.conversations.items.create(id, { items });
    const [item] = added.data;
    assert.ok(item);
    assert.deepEqual(await client.conversations.items.retrieve(item.id, { conversation_id: id }), item);
    assert.equal((await client.conversations.items.delete(item.id, { conversation_id: id })).id, id);
    assert.equal((await client.conversations.delete(id)).deleted, true);
    await assert.rejects(client.conversations.retrieve(id), library.NotFoundError);
    assert.equal(bench.sessionKeys().length, 1);
  });

  it("previous_response_id, retrieve, input items, delete", async () => {
    const first = await client.responses.create({ model, input: "Hello." });
    const second = await client.responses.create({ model, input: "More.", previous_response_id: first.id });
    assert.equal(second.previous_response_id, first.id);
    const { output_text: text } = await client.responses.retrieve(second.id);
    assert.equal(text, "Answer 1.");
    const items = await all(client.responses.inputItems.list(second.id, { order: "asc", limit: 1 }));
    assert.deepEqual(items.map(textOf), ["Hello.", "Answer 0.", "More."]);
    await client.responses.delete(second.id);
    await assert.rejects(client.responses.retrieve(second.id), library.NotFoundError);
  });

  it("background: polled to its end, followed from the middle, cancelled too late", async () => {
    const begun = await client.responses.create({ model, input: "Hello.", background: true });
    assert.equal(begun.background, true);
    let polled: Answer = begun;
    while (polled.status === "queued" || polled.status === "in_progress")
      polled = await client.responses.retrieve(begun.id);
    assert.equal(polled.output_text, "Answer 0.");
    assert.equal((await client.responses.cancel(begun.id)).status, "completed");

    const events: StreamEvent[] = [];
    for await (const event of await client.responses.create({
      model,
      input: "More.",
      background: true,
      stream: true,
    }))
      events.push(event);
    const { id = "" } = events.at(-1)?.response ?? {};
    const rest: StreamEvent[] = [];
    for await (const event of await client.responses.retrieve(id, { stream: true, starting_after: 1 }))
      rest.push(event);
    assert.deepEqual(
      rest.map(({ sequence_number: at, type }) => [at, type]),
      events.slice(2).map(({ sequence_number: at, type }) => [at, type]),
    );
  });
});
