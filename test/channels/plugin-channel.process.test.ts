/** A plugin's kind of channel in `pagurus serve`: lines of JSON over a socket, which the test speaks. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { join } from "node:path";
import { createInterface, type Interface } from "node:readline";
import { after, before, describe, it } from "node:test";
import { ServeProcess } from "../server/serve-setting.ts";
import { startServer, type ModelServer } from "../servers/server.ts";
import { finish, makeSetting, modelConfig, type Setting } from "../turn/setting.ts";

const PLUGIN = `
import { connect } from "node:net";
import { once } from "node:events";
import { createInterface } from "node:readline";
export default function register(api) {
  api.registerChannel("pigeon", ({ id, settings }) => ({
    id,
    kind: "pigeon",
    async connect(port) {
      const socket = connect(settings.port, "127.0.0.1");
      await once(socket, "connect");
      const ended = once(socket, "close").then(() => "the loft is closed", () => "the loft is closed");
      socket.on("error", () => undefined);
      createInterface(socket).on("line", (line) => {
        const { id, text } = JSON.parse(line);
        void port.receive({ id, from: "ann", text }, id);
      });
      return {
        capabilities: { inbound: "at-most-once", outbound: "at-most-once", maxChars: 1000 },
        ended,
        send: async ({ id, to, text }) => void socket.write(JSON.stringify({ id, to, text, ring: settings.ring }) + "\\n"),
        close: async () => void socket.destroy(),
      };
    },
  }));
}
`;

describe("a channel of a plugin", () => {
  let model: ModelServer;
  let setting: Setting;
  let served: ServeProcess | undefined;
  const loft = createServer();

  before(async () => {
    model = await startServer({ protocol: "openai-completions", script: () => ({ text: "Coo." }) });
    loft.listen(0, "127.0.0.1");
    await once(loft, "listening");
    const { port } = loft.address() as AddressInfo;
    setting = makeSetting();
    const folder = join(setting.root, "pigeon");
    mkdirSync(folder);
    writeFileSync(join(folder, "package.json"), '{"name": "pigeon", "type": "module", "main": "index.js"}');
    writeFileSync(join(folder, "pagurus.plugin.json"), '{"id": "pigeon"}');
    writeFileSync(join(folder, "index.js"), PLUGIN);
    const home = { kind: "pigeon", allow: ["ann"], settings: { port, ring: "${RING}" } };
    const more = { channels: { home }, plugins: { load: { paths: [folder] } } };
    const config = modelConfig("openai-completions", model.url, {}, more);
    writeFileSync(join(setting.home, "pagurus.json"), JSON.stringify(config), { mode: 0o600 });
    setting.env["RING"] = "blue";
  });
  after(async () => {
    await served?.kill();
    loft.close();
    await model.close();
    setting.remove();
  });

  it("is connected by the server, answers its people, and is listed", async () => {
    const arrived = once(loft, "connection");
    served = await ServeProcess.start(setting);
    const [socket] = (await arrived) as [Socket];
    const lines: Interface = createInterface(socket);
    const answered = once(lines, "line");
    socket.write('{"id": "m-1", "text": "Hello?"}\n');
    const [line] = (await answered) as [string];
    const { to, text, ring } = JSON.parse(line) as Record<string, string>;
    assert.deepEqual({ to, text, ring }, { to: "ann", text: "Coo.", ring: "blue" });
    const { stdout } = await finish(setting, ["channels", "list"]);
    assert.match(stdout, /^home \(pigeon\): connected \(receives at-most-once, sends at-most-once\)\n/);
  });
});
