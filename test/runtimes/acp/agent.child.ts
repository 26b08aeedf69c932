/**
 * An agent that behaves as the environment (`AGENT_WAY`) and the last words of a prompt say, and logs what it receives, a
 * JSON line each, to the file `AGENT_LOG`.
 */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { hostTools, type McpServer } from "./host-tools.child.ts";

const way = process.env["AGENT_WAY"] ?? "";
const log = process.env["AGENT_LOG"] ?? "";
const known = `${log}.sessions`;

type Params = Record<string, unknown> & {
  sessionId?: string;
  prompt?: { type: string; text?: string; data?: string }[];
  mcpServers?: McpServer[];
};
interface Message {
  id?: number;
  method?: string;
  params?: Params;
  result?: { outcome?: { optionId?: string } };
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const send = (message: object): void =>
  void process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const note = (line: object): void => appendFileSync(log, `${JSON.stringify(line)}\n`);
const fail = (id: number | undefined, code: number, message: string, data?: unknown): void =>
  send({ id, error: { code, message, ...(data === undefined ? {} : { data }) } });

let asked = 0;
let isLoggedIn = false;
let servers: readonly McpServer[] = [];
let provider: { baseUrl: string; headers: Record<string, string> } | undefined;
const open = new Map<number, (answer: Message) => void>();
const cancels = new Map<string, () => void>();

function update(sessionId: string, fields: object): void {
  send({ method: "session/update", params: { sessionId, update: fields } });
}

function say(sessionId: string, text: string): void {
  update(sessionId, {
    sessionUpdate: "agent_message_chunk",
    messageId: "m",
    content: { type: "text", text },
  });
}

async function leave(sessionId: string, toolCallId: string, file: string, more?: object): Promise<string> {
  const id = (asked += 1) + 1_000;
  const content = [{ type: "diff", path: file, oldText: null, newText: "new" }];
  const toolCall = { toolCallId, title: `Write ${file}`, kind: "edit", status: "pending", content, ...more };
  const options = [
    { optionId: "yes", name: "Yes", kind: "allow_once" },
    { optionId: "no", name: "No", kind: "reject_once" },
  ];
  const answer = new Promise<Message>((resolve) => open.set(id, resolve));
  send({ id, method: "session/request_permission", params: { sessionId, toolCall, options } });
  return (await answer).result?.outcome?.optionId ?? "cancelled";
}

type Way = (id: number | undefined, sessionId: string, words: string) => Promise<unknown>;

const WAYS: Record<string, Way> = {
  async crash(_id, sessionId) {
    say(sessionId, "Half a sen");
    process.stderr.write("panic: out of rope\n");
    setTimeout(() => process.exit(3), 50);
    return undefined;
  },
  async hang(_id, sessionId) {
    say(sessionId, "I wait.");
    await new Promise<void>((resolve) => cancels.set(sessionId, resolve));
    if (way === "rude") fail(_id, -32_603, "Cancelled by the user");
    return way === "deaf" || way === "rude" ? undefined : { stopReason: "cancelled" };
  },
  async slow(_id, sessionId) {
    say(sessionId, "Slowly");
    await pause(500);
    update("unknown", {
      sessionUpdate: "agent_message_chunk",
      content: { type: "text", text: "Elsewhere." },
    });
    say(sessionId, " done.");
    return { stopReason: "end_turn" };
  },
  /** A reused call id, a missing one, and a call that never ends. */
  async calls(_id, sessionId) {
    for (const word of ["one", "two"]) {
      const call = { toolCallId: "t", title: word, kind: "other", rawInput: { word } };
      update(sessionId, { sessionUpdate: "tool_call", status: "pending", ...call });
      update(sessionId, {
        sessionUpdate: "tool_call_update",
        toolCallId: "t",
        status: "completed",
        rawOutput: word,
      });
      update(sessionId, { sessionUpdate: "tool_call", status: "completed", ...call });
    }
    update(sessionId, { sessionUpdate: "tool_call", title: "nameless", status: "in_progress" });
    update(sessionId, {
      sessionUpdate: "tool_call",
      toolCallId: "open",
      title: "open",
      rawInput: { word: "x" },
    });
    say(sessionId, "Called.");
    return { stopReason: "end_turn" };
  },
  /** Its requests went to another model than the one that it accepted. */
  async other(_id, sessionId) {
    update(sessionId, {
      sessionUpdate: "usage_update",
      used: 9,
      size: 99,
      _meta: { "_claude/model": "cheap" },
    });
    say(sessionId, "Cheaply.");
    return { stopReason: "end_turn", usage: { inputTokens: 10, outputTokens: 2, totalTokens: 12 } };
  },
  async late(_id, sessionId) {
    const of = { toolCallId: "open", status: "completed", rawOutput: "late" };
    update(sessionId, { sessionUpdate: "tool_call_update", ...of });
    say(sessionId, "Went on.");
    return { stopReason: "end_turn" };
  },
  async quit(_id, sessionId) {
    void leave(sessionId, "w1", `${process.cwd()}/written.txt`);
    setTimeout(() => process.exit(4), 300);
    return undefined;
  },
  /** 12 MB in one message, and a message over the limit. */
  async large(_id, sessionId) {
    say(sessionId, "x".repeat(12_000_000));
    return { stopReason: "end_turn" };
  },
  async endless() {
    for (let at = 0; at < 70; at += 1) {
      if (!process.stdout.write("x".repeat(1_000_000)))
        await new Promise((resolve) => process.stdout.once("drain", resolve));
    }
    return undefined;
  },
  async both(_id, sessionId) {
    const files = ["a", "b"].map((name) => leave(sessionId, name, `${process.cwd()}/${name}.txt`));
    say(sessionId, (await Promise.all(files)).join(" "));
    return { stopReason: "end_turn" };
  },
  async login(id) {
    fail(id, -32_000, "Authentication required");
    return undefined;
  },
  async broken(_id, sessionId) {
    process.stdout.write("this is no JSON\n[1]\n\n");
    update(sessionId, { sessionUpdate: "agent_message_chunk", content: null });
    update(sessionId, { sessionUpdate: "of_another_time", more: [1] });
    send({ method: "session/update", params: null });
    say(sessionId, "Whole all the same.");
    return { stopReason: "end_turn", usage: { inputTokens: "many" } };
  },
  async write(_id, sessionId) {
    const answer = await leave(sessionId, "w1", `${process.cwd()}/written.txt`);
    update(sessionId, {
      sessionUpdate: "tool_call_update",
      toolCallId: "w1",
      status: answer === "yes" ? "completed" : "failed",
    });
    say(sessionId, `The answer was ${answer}.`);
    return { stopReason: "end_turn" };
  },
  /** Reports the end of a call only after its model's next words. */
  async tardy(_id, sessionId) {
    const answer = await leave(sessionId, "w1", `${process.cwd()}/written.txt`);
    say(sessionId, `The answer was ${answer}.`);
    update(sessionId, {
      sessionUpdate: "tool_call_update",
      toolCallId: "w1",
      status: "completed",
      content: [],
    });
    return { stopReason: "end_turn" };
  },
  /** Requests permission before the words of its answer are reported, as Claude Code's adapter does on a busy machine. */
  async hasty(_id, sessionId) {
    const claudeCode = { toolName: "Write" };
    const answer = await leave(sessionId, "w1", `${process.cwd()}/written.txt`, { _meta: { claudeCode } });
    const words = (messageId: string, text: string): void =>
      update(sessionId, {
        sessionUpdate: "agent_message_chunk",
        content: { type: "text", text },
        messageId,
      });
    words("m1", "I ");
    words("m1", "write.");
    if (answer === "yes")
      update(sessionId, { sessionUpdate: "tool_call_update", toolCallId: "w1", status: "completed" });
    words("m2", `The answer was ${answer}.`);
    return { stopReason: "end_turn" };
  },
  /** Ends at the answer to a permission request, without words. */
  async wordless(_id, sessionId) {
    await leave(sessionId, "w1", `${process.cwd()}/written.txt`);
    return { stopReason: "end_turn" };
  },
  async compact(_id, sessionId) {
    update(sessionId, { sessionUpdate: "usage_update", used: 900, size: 1_000 });
    update(sessionId, { sessionUpdate: "compaction_update", compactionId: "k", status: "in_progress" });
    update(sessionId, { sessionUpdate: "usage_update", used: 90, size: 1_000 });
    update(sessionId, { sessionUpdate: "compaction_update", compactionId: "k", status: "completed" });
    update(sessionId, {
      sessionUpdate: "plan",
      entries: [{ content: "Rest", priority: "low", status: "in_progress" }],
    });
    update(sessionId, { sessionUpdate: "session_info_update", title: "A title of its own" });
    say(sessionId, "Smaller now.");
    return { stopReason: "end_turn" };
  },
  /** Two calls of the host's tool, in the order of the prompt's last word: `t1amber` reports the first, `m1amber` makes it. */
  async orders(_id, sessionId, words) {
    const tools = await hostTools(servers[0] ?? { name: "", command: "", args: [], env: [] });
    const made: Promise<unknown>[] = [];
    const report = (index: string, more: object): void =>
      update(sessionId, {
        sessionUpdate: "tool_call",
        toolCallId: `c${index}`,
        title: "mcp.pagurus.note",
        ...more,
      });
    const isBare = words.includes("bare");
    for (const step of words.split(" ").at(-1)?.split(",") ?? []) {
      const [what, index = "", word] = [step[0], step[1], step.slice(2)];
      const rawInput = { server: "pagurus", tool: "note", arguments: { word } };
      if (what === "t") report(index, { status: "in_progress", ...(isBare ? {} : { rawInput }) });
      else made.push(tools.call("note", { word }));
      await pause(60);
    }
    await Promise.all(made);
    tools.end();
    for (const index of ["1", "2"])
      update(sessionId, {
        sessionUpdate: "tool_call_update",
        toolCallId: `c${index}`,
        status: "completed",
        rawOutput: `native ${index}`,
      });
    say(sessionId, "Both are noted.");
    return { stopReason: "end_turn" };
  },
  async lists(_id, sessionId) {
    const tools = await hostTools(servers[0] ?? { name: "", command: "", args: [], env: [] });
    await tools.list();
    tools.end();
    say(sessionId, "Listed.");
    return { stopReason: "end_turn" };
  },
  async child(_id, sessionId) {
    spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" }).unref();
    say(sessionId, "Started.");
    return { stopReason: "end_turn" };
  },
};

/** An agent with an endpoint calls it once before it answers. */
async function ask(): Promise<void> {
  if (!provider) return;
  const { baseUrl, headers } = provider;
  const response = await fetch(`${baseUrl}/responses`, { method: "POST", headers, body: "{}" });
  await response.text();
}

async function prompt(id: number | undefined, params: Params): Promise<void> {
  const sessionId = params.sessionId ?? "";
  await ask();
  const words = params.prompt?.at(-1)?.text ?? "";
  const named = Object.keys(WAYS).find((each) => words.includes(`!${each}`));
  if (named === undefined) {
    say(sessionId, `Heard ${params.prompt?.length ?? 0}.`);
    return send({
      id,
      result: { stopReason: "end_turn", usage: { inputTokens: 10, outputTokens: 2, totalTokens: 12 } },
    });
  }
  const result = await WAYS[named]?.(id, sessionId, words);
  if (result !== undefined) send({ id, result });
}

const CHOICE = ["auto", "model"];
/** The ways in which an agent may list its models. */
const MODELS: Record<string, object> = {
  models: { models: { availableModels: CHOICE.map((modelId) => ({ modelId })), currentModelId: "auto" } },
  options: {
    configOptions: [
      {
        id: "which",
        category: "model",
        type: "select",
        currentValue: "auto",
        options: CHOICE.map((value) => ({ value })),
      },
    ],
  },
};

function modelsOf(): object | undefined {
  return MODELS[way.startsWith("routed") ? "options" : way];
}

function setModel(id: number | undefined, params: Params): void {
  const model = params["modelId"] ?? params["value"];
  note({ model, option: params["configId"] });
  if (CHOICE.includes(String(model))) send({ id, result: {} });
  else fail(id, -32_602, "Model not found");
}

function begin(id: number | undefined, params: Params): void {
  if (way === "stuck") return;
  if (way === "locked" && !isLoggedIn) return fail(id, -32_000, "Authentication required");
  const sessionId = `s${process.pid}-${(asked += 1)}`;
  appendFileSync(known, `${sessionId}\n`);
  servers = params.mcpServers ?? [];
  if (way === "closes") {
    note({ begun: sessionId });
    return void setTimeout(() => send({ id, result: { sessionId } }), 400);
  }
  note({
    new: sessionId,
    system: params["systemPrompt"] !== undefined,
    systemPrompt: params["systemPrompt"],
    servers: params.mcpServers?.map(({ name }) => name),
  });
  const modes = { availableModes: [{ id: "careful", name: "Careful" }], currentModeId: "bold" };
  send({ id, result: { sessionId, ...(way === "modes" ? { modes } : modelsOf()) } });
}

function initialized(id: number | undefined): void {
  if (way === "noise") for (let line = 0; line < 30; line += 1) process.stdout.write(`Welcome ${line}!\n`);
  if (way === "mute") return;
  if (way === "late") process.stdout.write("Loading...\n");
  const isRouted = way.startsWith("routed");
  const sessionCapabilities = way === "closes" ? { close: {} } : isRouted ? { systemPrompt: {} } : {};
  const agentCapabilities = {
    loadSession: way.startsWith("loads") || way === "dies at session/load",
    promptCapabilities: way === "images" ? { image: true } : {},
    sessionCapabilities,
    ...(isRouted ? { providers: {} } : {}),
  };
  const key = { id: "key", name: "API key", type: "env_var", vars: [{ name: "AGENT_KEY" }] };
  const authMethods = [{ id: "sso", name: "Single sign-on" }, ...(way === "locked" ? [key] : [])];
  send({ id, result: { protocolVersion: way === "old" ? 7 : 1, agentCapabilities, authMethods } });
  if (way === "quits") process.stdout.write("", () => process.exit(5));
}

function handle({ id, method, params = {}, result }: Message): void {
  if (method !== undefined && way === `dies at ${method}`) {
    process.stderr.write("panic: out of rope\n");
    process.exit(6);
  }
  if (method === undefined) {
    open.get(id ?? -1)?.(result ? { result } : {});
    return undefined;
  }
  switch (method) {
    case "initialize":
      return initialized(id);
    case "authenticate":
      note({ login: params["methodId"] });
      isLoggedIn = process.env["AGENT_KEY"] === "right";
      return isLoggedIn ? send({ id, result: {} }) : fail(id, -32_000, "The key is wrong");
    case "session/new":
      return begin(id, params);
    case "session/load": {
      note({ load: params.sessionId });
      if (!existsSync(known) || !readFileSync(known, "utf8").includes(String(params.sessionId)))
        return fail(id, -32_002, "Session not found");
      if (way === "loads-late") setTimeout(say, 60, params.sessionId ?? "", "Told again.");
      else say(params.sessionId ?? "", "Told again.");
      return send({ id, result: {} });
    }
    case "providers/list": {
      const supported = way === "routed elsewhere" ? ["bedrock"] : ["openai"];
      return send({ id, result: { providers: [{ providerId: "main", supported }] } });
    }
    case "providers/set":
      provider = { baseUrl: String(params["baseUrl"]), headers: params["headers"] as Record<string, string> };
      note({ provider: params });
      return send({ id, result: {} });
    case "session/set_mode":
      return note({ mode: params["modeId"] });
    case way === "models" ? "session/set_model" : "session/set_config_option":
      return setModel(id, params);
    case "session/close":
      note({ close: params.sessionId });
      return send({ id, result: {} });
    case "session/prompt":
      note({ prompt: params.sessionId, texts: params.prompt?.map(({ text, data }) => text ?? data) });
      return void prompt(id, params);
    case "session/cancel":
      note({ cancel: params.sessionId });
      return cancels.get(params.sessionId ?? "")?.();
    default:
      if (id !== undefined) fail(id, -32_601, "Method not found");
  }
}

if (log !== "" && !existsSync(log)) writeFileSync(log, "");
note({ started: process.pid });
createInterface({ input: process.stdin })
  .on("line", (line) => handle(JSON.parse(line) as Message))
  .on("close", () => (way === "deaf" ? undefined : process.exit(0)));
if (way === "deaf") setInterval(() => undefined, 1_000);
