/** An MCP server without a library, which misbehaves in the mode of its first argument. `PIDS` names a file for process ids. */
import { spawn } from "node:child_process";
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";

type Message = { id?: number; method?: string; params?: Record<string, unknown> };

const [mode = "good", extra = "0"] = process.argv.slice(2);
const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
let names = ["echo", "image", "big", "hang", "block", "crash", "change", "slow", "resource", "env"];

function note(pid: number | undefined): void {
  const file = process.env["PIDS"];
  if (file !== undefined) appendFileSync(file, `${pid}\n`);
}

function send(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
}

function say(id: number | undefined, text: string): void {
  send({ id, result: { content: [{ type: "text", text }] } });
}

function notify(method: string, params: object = {}): void {
  send({ method: `notifications/${method}`, params });
}

const tools: Record<
  string,
  (id: number | undefined, args: Record<string, unknown>, meta: Record<string, unknown>) => void
> = {
  echo: (id, args) => say(id, `echo ${JSON.stringify(args)}`),
  env: (id, args) => say(id, `${String(args["name"])}=${process.env[String(args["name"])] ?? "(none)"}`),
  image: (id) =>
    send({
      id,
      result: {
        content: [
          { type: "image", data: PIXEL, mimeType: "image/png" },
          { type: "image", data: "AAAA", mimeType: "image/png" },
        ],
      },
    }),
  resource: (id) =>
    send({
      id,
      result: {
        content: [
          { type: "resource", resource: { uri: "note://1", mimeType: "text/plain", text: "a note" } },
        ],
        structuredContent: { answer: 42 },
      },
    }),
  big: (id) => say(id, `head${"x".repeat(5_000_000)}tail`),
  hang: () => undefined,
  block: () => {
    for (;;);
  },
  crash: () => {
    process.stderr.write("out of cheese\n");
    process.exitCode = 3;
    setTimeout(() => process.exit(), 20);
  },
  change: (id) => {
    names = ["echo", "fresh"];
    notify("tools/list_changed");
    say(id, "changed");
  },
  slow: (id, _args, meta) => {
    let ticks = 0;
    const timer = setInterval(() => {
      ticks += 1;
      notify("progress", { progressToken: meta["progressToken"], progress: ticks });
      if (ticks < 6) return;
      clearInterval(timer);
      say(id, "slow but sure");
    }, 250);
  },
  fresh: (id) => say(id, "fresh"),
};

function answer({ id, method, params = {} }: Message): void {
  if (method === "initialize") {
    const result = {
      protocolVersion: params["protocolVersion"],
      capabilities: { tools: { listChanged: true } },
      serverInfo: { name: "child", version: "1" },
    };
    setTimeout(() => send({ id, result }), Number(extra));
  } else if (method === "ping") send({ id, result: {} });
  else if (method === "tools/list") {
    const list = names.map((name) => ({
      name,
      description: `Does ${name}.`,
      // Ignored: what a server declares of itself.
      annotations: { readOnlyHint: true, destructiveHint: false },
      inputSchema: { $schema: "http://json-schema.org/draft-07/schema#", type: "object", properties: {} },
    }));
    send({ id, result: { tools: mode === "shuffled" ? list.toReversed() : list } });
  } else if (method === "tools/call") {
    const tool = tools[String(params["name"])];
    if (!tool) return send({ id, error: { code: -32602, message: "no such tool" } });
    tool(
      id,
      (params["arguments"] ?? {}) as Record<string, unknown>,
      (params["_meta"] ?? {}) as Record<string, unknown>,
    );
  }
}

function serve(): void {
  const lines = createInterface({ input: process.stdin });
  lines.on("line", (line) => answer(JSON.parse(line) as Message));
  lines.on("close", () => process.exit());
}

const modes: Record<string, () => void> = {
  garbage: () => {
    process.stdout.write("Welcome to the server!\n\n{not json}\n");
    serve();
  },
  /** Reads nothing and ignores SIGTERM, and so does its own child. */
  mute: () => {
    note(spawn("sleep", ["60"], { stdio: "inherit" }).pid);
    process.on("SIGTERM", () => undefined);
    process.stdin.resume();
    setInterval(() => undefined, 1_000);
  },
  dead: () => {
    process.stderr.write("no licence found for KEY-12345\n");
    process.exitCode = 2;
  },
  endless: () => {
    const chunk = "y".repeat(1_000_000);
    const more = (): void => void process.stdout.write(chunk, more);
    more();
  },
  spam: () => {
    serve();
    const chunk = `${JSON.stringify({ jsonrpc: "2.0", method: "notifications/message", params: { level: "info", data: "z".repeat(100_000) } })}\n`;
    const more = (): void => void process.stdout.write(chunk, more);
    setTimeout(more, 300);
  },
};

note(process.pid);
(modes[mode] ?? serve)();
