/** Turns over the API of a real `pagurus serve`: posted, queued, followed, steered, stopped, asked about. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startServer, type ModelServer, type ReplyStep } from "../servers/server.ts";
import { makeSetting, modelConfig, type Setting } from "../turn/setting.ts";
import { readBody } from "../turn/wire-bodies.ts";
import { ServeProcess, type StreamedEvent } from "./serve-setting.ts";
import { longTest } from "../runner/long-tests.ts";

/** The newest user text of a request. */
function lastUser(body: ReturnType<typeof readBody>): string {
  return body.messages.findLast(({ role }) => role === "user")?.text ?? "";
}

describe("a turn that is posted to a server", () => {
  let model: ModelServer;
  let setting: Setting;
  let server: ServeProcess;
  const gates = new Map<string, () => void>();

  before(async () => {
    model = await startServer({
      protocol: "openai-completions",
      script: async (request): Promise<ReplyStep> => {
        const body = readBody("openai-completions", request);
        const text = lastUser(body);
        if (/wait \w+$/.test(text)) await new Promise<void>((resolve) => gates.set(text, resolve));
        const results = body.messages.filter(({ role }) => role === "tool").length;
        if (text.startsWith("shell") && results === 0)
          return {
            text: "I run it.",
            toolCalls: [{ id: "c1", name: "shell", arguments: { command: "echo hi > made.txt" } }],
          };
        return { text: `Answer to ${text}` };
      },
    });
    setting = makeSetting(
      modelConfig(
        "openai-completions",
        model.url,
        {},
        { agents: { defaults: { permission: { mode: "ask", sandbox: "off" } } } },
      ),
    );
    server = await ServeProcess.start(setting);
  });
  after(async () => {
    await server.kill();
    await model.close();
    setting.remove();
  });

  const isEnd = ({ type }: StreamedEvent): boolean => type === "work.ended";

  it("is accepted, runs, and its events have rising ids from acceptance to end", async () => {
    const posted = await server.call("POST", "/api/v1/sessions/first/turns", { prompt: "hello" });
    assert.equal(posted.status, 202);
    const events = await server.events(`/api/v1/work/${String(posted.body["id"])}/events`, isEnd);
    assert.equal(events[0]?.type, "work.accepted");
    assert.equal(events.at(-1)?.data["outcome"], "completed");
    assert.ok(events.some(({ type }) => type === "turn.completed"));
    const ids = events.map(({ id }) => id);
    assert.deepEqual(
      ids,
      ids.toSorted((one, other) => one - other),
    );
    const text = events
      .flatMap(({ type, data }) => (type === "text.delta" ? [String(data["delta"])] : []))
      .join("");
    assert.equal(text, "Answer to hello");
    const shown = await server.call("GET", "/api/v1/sessions/first");
    assert.equal(shown.body["turns"], 1);
  });

  it("with the key of an earlier one is that one, and with another body a conflict", async () => {
    const headers = { "idempotency-key": "k1" };
    const one = await server.call("POST", "/api/v1/sessions/keys/turns", { prompt: "once" }, headers);
    const again = await server.call("POST", "/api/v1/sessions/keys/turns", { prompt: "once" }, headers);
    assert.deepEqual([one.status, again.status], [202, 200]);
    assert.equal(again.body["id"], one.body["id"]);
    const other = await server.call("POST", "/api/v1/sessions/keys/turns", { prompt: "twice" }, headers);
    assert.equal(other.status, 409);
    assert.equal((other.body["error"] as { code: string }).code, "idempotency_conflict");
    await server.ended(String(one.body["id"]));
    const shown = await server.call("GET", "/api/v1/sessions/keys");
    assert.equal(shown.body["turns"], 1);
  });

  it("waits for the one before it, and one that steers joins it", async () => {
    const path = "/api/v1/sessions/queue/turns";
    const first = await server.call("POST", path, { prompt: "wait one" });
    const second = await server.call("POST", path, { prompt: "second" });
    while (!gates.has("wait one")) await new Promise((resolve) => setTimeout(resolve, 10));
    assert.equal(second.body["ahead"], 1);
    const withdrawn = await server.call("DELETE", `/api/v1/work/${String(second.body["id"])}`);
    assert.equal(withdrawn.body["outcome"], "withdrawn", JSON.stringify(withdrawn.body));
    const steer = await server.call("POST", path, { prompt: "also this", policy: "steer" });
    gates.get("wait one")?.();
    const ended = await server.ended(String(steer.body["id"]));
    assert.equal(ended["outcome"], "steered");
    assert.equal(ended["intoWork"], first.body["id"]);
    await server.ended(String(first.body["id"]));
    const shown = await server.call("GET", "/api/v1/sessions/queue");
    assert.equal(shown.body["turns"], 1);
  });

  it("does not get text that was taken back before its next model call", async () => {
    const path = "/api/v1/sessions/back/turns";
    const first = await server.call("POST", path, { prompt: "wait back" });
    while (!gates.has("wait back")) await new Promise((resolve) => setTimeout(resolve, 10));
    const steer = await server.call("POST", path, { prompt: "one more thing", policy: "steer" });
    assert.equal(steer.body["state"], "steering", JSON.stringify(steer.body));
    const withdrawn = await server.call("DELETE", `/api/v1/work/${String(steer.body["id"])}`);
    assert.equal(withdrawn.body["outcome"], "withdrawn", JSON.stringify(withdrawn.body));
    gates.get("wait back")?.();
    assert.equal((await server.ended(String(first.body["id"])))["outcome"], "completed");
    assert.ok(!model.requests.some(({ text }) => text.includes("one more thing")));
  });

  it("that interrupts ends the one that runs, and runs after it", async () => {
    const path = "/api/v1/sessions/interrupt/turns";
    const first = await server.call("POST", path, { prompt: "wait two" });
    while (!gates.has("wait two")) await new Promise((resolve) => setTimeout(resolve, 10));
    const next = await server.call("POST", path, { prompt: "now this", policy: "interrupt" });
    assert.equal((await server.ended(String(first.body["id"])))["outcome"], "aborted");
    assert.equal((await server.ended(String(next.body["id"])))["outcome"], "completed");
  });

  it("of an agent as a model has the question in its stream, with the address of the answer", async () => {
    const messages = [{ role: "user", content: "shell for a model" }];
    const streamed = server.call("POST", "/v1/chat/completions", {
      model: "agent/main",
      messages,
      stream: true,
    });
    let open: { id: string }[] = [];
    while (open.length === 0) {
      const { body } = await server.call("GET", "/api/v1/approvals");
      open = body["approvals"] as { id: string }[];
    }
    const address = `/api/v1/approvals/${open[0]?.id ?? ""}`;
    await server.call("POST", address, { answer: "once" });
    const { body } = await streamed;
    const text = String(body["text"]);
    assert.ok(text.includes(address), text);
    assert.match(text, /Answer to shell for a model/);
  });

  it("asks for permission as an event, and the answer lets the tool run", async () => {
    const posted = await server.call("POST", "/api/v1/sessions/asks/turns", { prompt: "shell please" });
    const id = String(posted.body["id"]);
    const [question] = (
      await server.events(`/api/v1/work/${id}/events`, ({ type }) => type === "approval.asked")
    ).slice(-1);
    const listed = await server.call("GET", "/api/v1/approvals");
    const [approval] = listed.body["approvals"] as { id: string; tool: string; work: string }[];
    assert.equal(approval?.id, question?.data["id"]);
    assert.equal(approval?.work, id);
    const answered = await server.call("POST", `/api/v1/approvals/${approval?.id}`, { answer: "once" });
    assert.equal(answered.body["answered"], true);
    const again = await server.call("POST", `/api/v1/approvals/${approval?.id}`, { answer: "deny" });
    assert.equal(again.body["answered"], false);
    assert.equal((await server.ended(id))["outcome"], "completed");
    const events = await server.events(`/api/v1/work/${id}/events`, isEnd);
    const result = events.find(({ type }) => type === "tool.completed");
    assert.ok(result);
    const by = events.find(({ type }) => type === "approval.answered")?.data;
    assert.deepEqual([by?.["id"], by?.["answer"], by?.["by"]], [approval?.id, "once", "local"]);
  });

  it("in a session that another program holds waits until it is free", async () => {
    const { createPagurus } = await import("../../packages/app/src/create.ts");
    const other = await createPagurus({ home: setting.home, env: setting.env });
    const claim = await other.claim({ sessionKey: "held" });
    const posted = await server.call("POST", "/api/v1/sessions/held/turns", { prompt: "later" });
    const id = String(posted.body["id"]);
    const events = await server.events(`/api/v1/work/${id}/events`, ({ type }) => type === "work.waiting");
    assert.equal(events.at(-1)?.data["code"], "session_locked");
    claim.release();
    await other.close();
    assert.equal((await server.ended(id))["outcome"], "completed");
  });

  longTest("runs like any other after it waited for its session: it is not withdrawn", async () => {
    const { createPagurus } = await import("../../packages/app/src/create.ts");
    const other = await createPagurus({ home: setting.home, env: setting.env });
    const claim = await other.claim({ sessionKey: "late" });
    const { body } = await server.call("POST", "/api/v1/sessions/late/turns", { prompt: "wait three" });
    const path = `/api/v1/work/${String(body["id"])}`;
    await server.events(`${path}/events`, ({ type }) => type === "work.waiting");
    // More than one try.
    await new Promise((resolve) => setTimeout(resolve, 1_200));
    claim.release();
    await other.close();
    while (!gates.has("wait three")) await new Promise((resolve) => setTimeout(resolve, 10));
    assert.equal((await server.call("GET", path)).body["state"], "running");
    assert.equal((await server.call("DELETE", path)).status, 400);
    gates.get("wait three")?.();
    const events = await server.events(`${path}/events`, isEnd);
    assert.equal(events.at(-1)?.data["outcome"], "completed");
    assert.equal(events.filter(({ type }) => type === "work.waiting").length, 1);
  });

  it("is followed again from the last event that the client has", async () => {
    const posted = await server.call("POST", "/api/v1/sessions/resume/turns", { prompt: "resume" });
    const path = `/api/v1/work/${String(posted.body["id"])}/events`;
    const all = await server.events(path, isEnd);
    const middle = all[Math.floor(all.length / 2)];
    const rest = await server.events(path, isEnd, { "last-event-id": String(middle?.id) });
    assert.deepEqual(
      rest,
      all.filter(({ id }) => id > (middle?.id ?? 0)),
    );
  });
});
