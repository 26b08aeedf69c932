/** Each door that takes JSON: a long text is parsed beside the event loop, whatever its path and way. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { VALID } from "../model-api/mutations.ts";
import { startServer, type ModelServer } from "../servers/server.ts";
import { makeSetting, modelConfig, type Setting } from "../turn/setting.ts";
import { AcpSocket, postAcp } from "./acp-doors.ts";
import { MeasuredServer } from "./measured-server.ts";

const LENGTH = 2 ** 20;
/** A longer text on the event loop would take it for more than some milliseconds. */
const MOST_PARSED = LENGTH / 2;
const PAD = "lorem ipsum ".repeat(LENGTH / 12);

interface OpenApi {
  paths: Record<string, Record<string, { requestBody?: unknown }>>;
}

describe("a long JSON text of a client", () => {
  let model: ModelServer;
  let setting: Setting;
  let measured: MeasuredServer;
  before(async () => {
    model = await startServer({ protocol: "openai-completions", script: () => ({ text: "ok" }) });
    setting = makeSetting(modelConfig("openai-completions", model.url));
    measured = await MeasuredServer.start(setting);
  });
  after(async () => {
    await measured.process.kill();
    await model.close();
    setting.remove();
  });

  /** Method and path of each operation with a body, from the served document and the list of `/v1`. */
  async function httpDoors(): Promise<[method: string, path: string][]> {
    const { body } = await measured.process.call("GET", "/api/v1/openapi.json");
    const { paths } = body as unknown as OpenApi;
    const own = Object.entries(paths).flatMap(([path, operations]) =>
      Object.entries(operations)
        .filter(([, { requestBody }]) => requestBody !== undefined)
        .map(([method]): [string, string] => [method.toUpperCase(), path.replaceAll(/\{\w+\}/g, "main")]),
    );
    return [...own, ...Object.keys(VALID).map((path): [string, string] => ["POST", `/v1${path}`])];
  }

  async function parsedBy(name: string, send: () => Promise<unknown>): Promise<void> {
    await measured.figures();
    await send();
    const { work } = await measured.figures();
    assert.ok(work.parsed < MOST_PARSED, `${name}: ${work.parsed} characters were parsed on the event loop`);
  }

  it("is parsed beside the event loop at each path of the server", async () => {
    const doors = await httpDoors();
    assert.ok(doors.length > 15, `${doors.length} doors`);
    for (const [method, path] of doors)
      await parsedBy(`${method} ${path}`, async () => {
        const { status } = await measured.process.call(method, path, { pad: PAD });
        assert.ok(status < 500, `${method} ${path}: ${status}`);
      });
  });

  it("is parsed beside the event loop for ACP clients, with a method or an answer", async () => {
    const client = await AcpSocket.open(measured.process);
    const messages: [method: string | undefined, values: object][] = [
      ["a/b", { params: { pad: PAD } }],
      ["session/new", { params: { cwd: setting.workspace, mcpServers: [], _meta: { pad: PAD } } }],
      [undefined, { result: { pad: PAD } }],
    ];
    for (const [method, values] of messages) {
      const name = method ?? "an answer";
      await parsedBy(`/acp over HTTP, ${name}`, () => postAcp(measured.process, { method, ...values }));
      await parsedBy(`/acp over a WebSocket, ${name}`, () => client.sendInOrder({ method, ...values }));
    }
    client.close();
  });

  it("keeps its place among the messages of an ACP client, with all that it says", async () => {
    const client = await AcpSocket.open(measured.process);
    // The agent has none of these methods, and says so in the order of the messages.
    const answers = await Promise.all([
      client.ask("a/b", { pad: PAD }),
      client.ask("a/c", {}),
      client.ask("a".repeat(2 * LENGTH), {}),
      client.ask("a/d", { "pagurus.long": "a" }),
    ]);
    const order = client.order.slice(-answers.length);
    assert.deepEqual(
      order,
      order.toSorted((one, other) => one - other),
    );
    for (const answer of answers) {
      const { code, message } = (answer ?? {})["error"] as { code: number; message: string };
      assert.equal(code, -32_601);
      assert.ok(message.length < 4_000, `${message.length} characters`);
    }
    const made = await client.ask("session/new", {
      cwd: setting.workspace,
      mcpServers: [],
      _meta: { pad: PAD },
    });
    assert.match(((made ?? {})["result"] as { sessionId: string }).sessionId, /^acp:/);
    client.close();
  });
});
