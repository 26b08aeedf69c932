/** A client without ids that resends its whole history: which sessions it gets, and what reaches the model. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { FULL } from "../runner/short-form.ts";
import { ServeProcess } from "../server/serve-setting.ts";
import { startServer, type ModelServer, type RecordedRequest } from "../servers/server.ts";
import { finish, makeSetting, modelConfig, type Setting } from "../turn/setting.ts";
import { readBody } from "../turn/wire-bodies.ts";

interface Message {
  role: "user" | "assistant" | "system";
  content: string;
}

const TURNS = FULL ? 50 : 28;
const COMPACTIONS = FULL ? 4 : 1;
const FILLER = "These words fill the window of the model, again and again. ".repeat(12);

/** Whether a request is that of a turn: the summaries of a compaction are asked at the same endpoint, at any moment. */
function isTurn(request: RecordedRequest): boolean {
  const last = readBody("openai-completions", request).messages.at(-1);
  return last?.text.startsWith("Question ") ?? false;
}

describe("a client of the model API that resends its history", () => {
  let model: ModelServer;
  let setting: Setting;
  let server: ServeProcess;
  let answers = 0;
  before(async () => {
    model = await startServer({
      protocol: "openai-completions",
      script: () => {
        answers += 1;
        return { text: `Answer ${answers}. ${FILLER}` };
      },
    });
    setting = makeSetting(
      modelConfig(
        "openai-completions",
        model.url,
        { contextWindow: 12_000, maxTokens: 1_000 },
        { plugins: { slots: { contextEngine: "lossless" } } },
      ),
    );
    server = await ServeProcess.start(setting);
  });
  after(async () => {
    await server.kill();
    await model.close();
    setting.remove();
  });

  async function ask(messages: readonly Message[], headers: Record<string, string> = {}): Promise<Message> {
    const asked = { model: "test/model", messages, stream: true };
    const { status, body } = await server.call("POST", "/v1/chat/completions", asked, headers);
    assert.equal(status, 200, JSON.stringify(body));
    const lines = String(body["text"])
      .split("\n")
      .filter((line) => line.startsWith("data: {"));
    const content = lines
      .map((line) => JSON.parse(line.slice(6)) as { choices: { delta?: { content?: string } }[] })
      .map(({ choices }) => choices[0]?.delta?.content ?? "")
      .join("");
    assert.notEqual(content, "", JSON.stringify(body));
    return { role: "assistant", content };
  }

  async function keys(): Promise<string[]> {
    const { body } = await server.call("GET", "/api/v1/sessions?limit=1000");
    return (body["sessions"] as { key: string }[]).map(({ key }) => key).toSorted();
  }

  it(`has one session for ${TURNS} turns through ${COMPACTIONS} compactions; an edit and a regeneration make one fork each`, async () => {
    const messages: Message[] = [{ role: "system", content: "Be short." }];
    for (let turn = 0; turn < TURNS; turn++) {
      messages.push({ role: "user", content: `Question ${turn}: what is ${turn} times two? ${FILLER}` });
      messages.push(await ask(messages));
    }
    const [key, ...others] = await keys();
    assert.deepEqual(others, []);
    const shown = await server.call("GET", `/api/v1/sessions/${encodeURIComponent(key ?? "")}`);
    assert.equal(shown.body["turns"], TURNS);
    const sizes = model.requests.filter(isTurn).map((request) => request.text.length);
    assert.equal(sizes.length, TURNS);
    assert.ok(Math.max(...sizes) < 12_000 * 6, "no request is larger than the window");
    const heads = new Set(
      model.requests.filter(isTurn).flatMap((request) => {
        const sent = readBody("openai-completions", request);
        return sent.messages
          .map(({ text }) => text)
          .filter((text) => text.startsWith("<conversation_summary>"));
      }),
    );
    assert.ok(heads.size >= COMPACTIONS, `${heads.size} summaries: ${sizes.join(", ")}`);

    const edited = messages.slice(0, 5).concat([{ role: "user", content: "An edited question." }]);
    const answer = await ask(edited);
    assert.equal((await keys()).length, 2);
    const sent = readBody("openai-completions", model.requests.at(-1) as never);
    assert.deepEqual(
      sent.messages.map(({ text }) => text),
      edited.slice(1).map(({ content }) => content),
    );
    await ask([...edited, answer, { role: "user", content: "And then?" }]);
    assert.equal((await keys()).length, 2, "the fork is continued");

    const again = await ask(edited);
    assert.equal((await keys()).length, 3, "a regenerated answer is a fork at the answer");
    await ask([...edited, again, { role: "user", content: "From the second answer." }]);
    assert.equal((await keys()).length, 3);
  });

  it("of several tokens with equal first words stay apart, also at once", async () => {
    const tokens = await Promise.all(
      Array.from({ length: FULL ? 20 : 4 }, async (_, index) => {
        const made = await finish(setting, ["token", "create", "--name", `client-${index}`]);
        return { authorization: `Bearer ${made.stdout.trim()}` };
      }),
    );
    const before = (await keys()).length;
    const hello: Message = { role: "user", content: "Hello!" };
    const firsts = await Promise.all(tokens.map((headers) => ask([hello], headers)));
    await Promise.all(
      tokens.map((headers, index) =>
        ask([hello, firsts[index] ?? hello, { role: "user", content: "And now?" }], headers),
      ),
    );
    const after = await keys();
    assert.equal(after.length - before, tokens.length);
  });

  it("is refused for a model that does not exist, in the API's own error shape", async () => {
    const { status, body } = await server.call("POST", "/v1/chat/completions", {
      model: "test",
      messages: [],
    });
    assert.equal(status, 404);
    assert.match((body["error"] as { message: string }).message, /There is no model "test"/);
    const listed = await server.call("GET", "/v1/models");
    const models = (listed.body["data"] as { id: string }[]).map(({ id }) => id);
    assert.deepEqual(models, ["test/model", "agent/main"]);
  });
});
