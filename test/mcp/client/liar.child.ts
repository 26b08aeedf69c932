/**
 * An MCP server without a library, which lies in the mode of its first argument. `PIDS` names a file for process ids, `LIST`
 * one with tools.
 */
import { appendFileSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";

type Message = { id?: number; method?: string; params?: Record<string, unknown> };

const [mode = "", extra = ""] = process.argv.slice(2);
const TOOL = { name: "echo", inputSchema: { type: "object" } };
const { PIDS: pids, LIST: list, DIES: dies } = process.env;
if (pids !== undefined) appendFileSync(pids, `${process.pid}\n`);

function line(text: string): void {
  process.stdout.write(`${text}\n`);
}

function send(message: object): void {
  line(JSON.stringify({ jsonrpc: "2.0", ...message }));
}

let lists = 0;

/** Answer to `tools/list`, by mode. */
function listed(cursor: unknown): object {
  lists += 1;
  if (mode === "loop") return { tools: [TOOL], nextCursor: "again" };
  if (mode === "pages")
    return { tools: [{ ...TOOL, name: `t${lists}` }], nextCursor: `${Number(cursor ?? 0) + 1}` };
  if (mode === "restless") return { tools: [{ ...TOOL, name: lists < 2 ? "old" : "new" }] };
  if (mode === "count") return { tools: [{ ...TOOL, name: `listed${lists}` }] };
  if (mode === "loose" && cursor === undefined)
    return { tools: [TOOL, { name: "bad" }], nextCursor: "", _meta: null };
  if (mode === "loose") return { tools: [{ ...TOOL, name: "second", outputSchema: 5 }], nextCursor: null };
  if (mode === "tools")
    return { tools: JSON.parse(list === undefined ? extra : readFileSync(list, "utf8")) as object[] };
  return { tools: [TOOL] };
}

const calls: Record<string, (id: number | undefined) => void> = {
  /** An unrequested answer, nested too deeply to be serialized. */
  deep: (id) => {
    const depth = 100_000;
    line(`{"jsonrpc":"2.0","id":99999,"result":{"a":${"[".repeat(depth)}${"]".repeat(depth)}}}`);
    send({ id, result: { content: [{ type: "text", text: "fine" }] } });
  },
  twice: (id) => {
    send({ id, result: { content: [{ type: "text", text: "first" }] } });
    send({ id, result: { content: [{ type: "text", text: "second" }] } });
  },
  types: (id) => send({ id, result: { content: "a text", isError: "no" } }),
  mixed: (id) => {
    const content = [
      { type: "text", text: "good" },
      { type: "hologram", frames: 3 },
      { type: "image", data: "!", mimeType: "image/png" },
    ];
    send({ id, result: { content } });
  },
  progress: (id) => {
    const params = { progressToken: id, progress: "some", total: null, message: 5 };
    setInterval(() => send({ method: "notifications/progress", params }), 50).unref();
  },
  crumbs: (id) =>
    send({ id, result: { content: Array.from({ length: 50_000 }, () => ({ type: "text", text: "" })) } }),
  /** Does not answer pings. */
  noping: () => undefined,
  unasked: () => {
    const text = "z".repeat(1_000_000);
    let next = 5_000;
    const more = (): void => {
      next += 1;
      const message = { jsonrpc: "2.0", id: next, result: { content: [{ type: "text", text }] } };
      process.stdout.write(`${JSON.stringify(message)}\n`, () => setTimeout(more, 2));
    };
    more();
  },
};

function answer({ id, method, params = {} }: Message): void {
  if (method === "initialize") {
    const { protocolVersion } = params;
    const capabilities = { tools: { listChanged: true }, prompts: mode === "loose" ? 5 : {} };
    send({
      id,
      result: {
        protocolVersion,
        capabilities,
        serverInfo: mode === "loose" ? null : { name: "liar", version: "1" },
      },
    });
    // Stops reading without exiting.
    if (mode === "deaf") process.stdin.destroy();
    if (mode === "restless")
      setInterval(() => send({ method: "notifications/tools/list_changed" }), 50).unref();
  } else if (method === "tools/list") send({ id, result: listed(params["cursor"]) });
  else if (method === "ping") send({ id, error: { code: -32601, message: "no such method" } });
  else if (method === "tools/call") {
    const call = calls[mode];
    if (call) call(id);
    else if (mode === "loose" && params["name"] === "second") send({ id, error: {} });
    else if (mode === "loose")
      send({ id, error: null, result: { content: [{ type: "text", text: "fine" }], _meta: null } });
    else send({ id, result: { content: [{ type: "text", text: String(params["name"]) }] } });
  }
}

if (mode === "words" || dies === "yes") {
  process.stderr.write(extra.replaceAll("SECRET", process.env["SECRET"] ?? ""));
  process.exitCode = 1;
} else {
  const lines = createInterface({ input: process.stdin });
  lines.on("line", (text) => answer(JSON.parse(text) as Message));
  if (mode === "deaf") setInterval(() => undefined, 1_000);
  else lines.on("close", () => process.exit());
}
