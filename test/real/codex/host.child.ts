/** A host that starts a turn, prints the child's pid and waits to be killed. Arguments: the program, the endpoint. */
import { tmpdir } from "node:os";
import { AppServers } from "../../../packages/runtimes/src/codex/app-server/app-server.ts";
import type { ThreadStartResponse } from "../../../packages/runtimes/src/codex/protocol.ts";

const [command, url] = process.argv.slice(2);
const servers = new AppServers({ env: process.env, command, clientVersion: "0.0.0" });
const server = await servers.get();
const local = { name: "local", base_url: url, wire_api: "responses" };
const { thread } = await server.request<ThreadStartResponse>("thread/start", {
  model: "some-model",
  modelProvider: "local",
  cwd: tmpdir(),
  config: { model_providers: { local } },
});
await server.request("turn/start", {
  threadId: thread.id,
  input: [{ type: "text", text: "hello", text_elements: [] }],
});
console.log(server.pid);
