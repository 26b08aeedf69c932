/** Drivers that send a program the host's requests of a turn, and nothing else. */
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { PROMPT } from "./place.ts";
import type { Recorded } from "./record.ts";
import { inputOf } from "../../test/runner/child-input.ts";

type Message = Record<string, unknown>;

/** One turn, from its first message to its end. Throws where it fails. */
export interface BareDriver {
  readonly pid: number | undefined;
  turn(): Promise<void>;
  end(): Promise<void>;
}

/** A program that speaks JSON, a message a line. */
class Lines {
  readonly #child: ChildProcess;
  #rest = "";
  #listen: (message: Message) => void = () => undefined;

  constructor(program: string, args: readonly string[], { env, cwd }: Pick<Recorded, "env" | "cwd">) {
    this.#child = spawn(program, args, { env, cwd, stdio: ["pipe", "pipe", "ignore"], detached: true });
    this.#child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      const lines = (this.#rest + text).split("\n");
      this.#rest = lines.pop() ?? "";
      for (const line of lines) if (line.startsWith("{")) this.#listen(JSON.parse(line) as Message);
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  write(message: Message): void {
    inputOf(this.#child).write(`${JSON.stringify(message)}\n`);
  }

  onMessage(listen: (message: Message) => void): void {
    this.#listen = listen;
  }

  /** The first message that `picks`. Rejects if the program ends before. */
  async until(picks: (message: Message) => boolean): Promise<Message> {
    return new Promise((resolve, reject) => {
      const ended = (): void => reject(new Error("the bare program ended"));
      this.#child.once("exit", ended);
      this.#listen = (message) => {
        if (!picks(message)) return;
        this.#child.off("exit", ended);
        resolve(message);
      };
    });
  }

  async end(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    const exited = new Promise<void>((resolve) => this.#child.once("exit", () => resolve()));
    const late = setTimeout(() => process.kill(-this.pid, "SIGKILL"), 3_000);
    inputOf(this.#child).end();
    await exited;
    clearTimeout(late);
  }
}

/** Its own state folder, and without the server of the host's tools, which has ended. */
function apart(recorded: Recorded, root: string): Recorded {
  const folder = join(root, `bare-${randomUUID().slice(0, 8)}`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const args = recorded.args.map((each) => (each.startsWith('{"mcpServers"') ? '{"mcpServers":{}}' : each));
  return { ...recorded, args, env: { ...recorded.env, CLAUDE_CONFIG_DIR: folder, CODEX_HOME: folder } };
}

/** `claude -p` with lines of JSON. The session has another id, the recorded one being in use. */
export function bareClaude(program: string, recorded: Recorded, root: string): BareDriver {
  const own = apart(recorded, root);
  const session = own.args.findIndex((each) => each === "--session-id" || each === "--resume");
  const args = own.args.with(session, "--session-id").with(session + 1, randomUUID());
  const lines = new Lines(program, args, own);
  // Requests before the first turn are answered in between, as in the host.
  for (const message of recorded.sent)
    if (message["type"] === "control_request") lines.write({ ...message, request_id: randomUUID() });
  return {
    pid: lines.pid,
    turn: async () => {
      const over = lines.until(({ type }) => type === "result");
      lines.write({ type: "user", message: { role: "user", content: PROMPT } });
      const { is_error: failed } = await over;
      if (failed === true) throw new Error("a turn of the bare driver failed");
    },
    end: () => lines.end(),
  };
}

/** An ACP agent: the recorded requests up to the session, then prompts. */
export async function bareAcp(program: string, recorded: Recorded, root: string): Promise<BareDriver> {
  const own = apart(recorded, root);
  const lines = new Lines(program, own.args, own);
  let next = 0;
  const ask = async (method: string, params: unknown): Promise<Message> => {
    const id = (next += 1);
    const answered = lines.until((message) => message["id"] === id && message["method"] === undefined);
    lines.write({ jsonrpc: "2.0", id, method, params });
    const { result, error } = await answered;
    if (error !== undefined) throw new Error(`${method}: ${JSON.stringify(error)}`);
    return result as Message;
  };
  const sent = (method: string): Message[] =>
    recorded.sent.filter((message) => message["method"] === method).map(({ params }) => params as Message);
  for (const method of ["initialize", "authenticate", "providers/set"])
    for (const params of sent(method)) await ask(method, params);
  const [session] = sent("session/new");
  const { sessionId } = await ask("session/new", { ...session, mcpServers: [] });
  const setUp = ["session/set_config_option", "session/set_model", "session/set_mode"];
  for (const method of setUp) for (const params of sent(method)) await ask(method, { ...params, sessionId });
  const prompt = [{ type: "text", text: PROMPT }];
  return {
    pid: lines.pid,
    turn: async () => {
      const { stopReason } = await ask("session/prompt", { sessionId, prompt });
      if (stopReason !== "end_turn")
        throw new Error(`a turn of the bare driver ended as ${String(stopReason)}`);
    },
    end: () => lines.end(),
  };
}

/** The app-server, by the requests that the host made. */
export async function bareCodex(program: string, recorded: Recorded, root: string): Promise<BareDriver> {
  const own = apart(recorded, root);
  const lines = new Lines(program, own.args, own);
  let next = 0;
  const sent = (method: string): Message => {
    const found = recorded.sent.findLast((message) => message["method"] === method);
    if (!found) throw new Error(`The host has not sent ${method}; the recording cannot be used.`);
    return found["params"] as Message;
  };
  const ask = async (method: string, params: unknown): Promise<Message> => {
    const id = (next += 1);
    const answered = lines.until((message) => message["id"] === id && message["method"] === undefined);
    lines.write({ id, method, params });
    const { result, error } = await answered;
    if (error !== undefined) throw new Error(`${method}: ${JSON.stringify(error)}`);
    return result as Message;
  };
  await ask("initialize", sent("initialize"));
  lines.write({ method: "initialized" });
  const { thread } = await ask("thread/start", sent("thread/start"));
  const threadId = (thread as Message)["id"];
  const { threadId: _thread, input: _input, ...turnStart } = sent("turn/start");
  const input = [{ type: "text", text: PROMPT, text_elements: [] }];
  return {
    pid: lines.pid,
    turn: async () => {
      const over = lines.until(({ method }) => method === "turn/completed");
      lines.write({ id: (next += 1), method: "turn/start", params: { ...turnStart, threadId, input } });
      const { turn } = (await over)["params"] as { turn: { status: string } };
      if (turn.status !== "completed") throw new Error(`a turn of the bare driver ended as ${turn.status}`);
    },
    end: () => lines.end(),
  };
}

/** For our own loop: the request alone, over a keep-alive connection. */
export function bareRequest(url: string): BareDriver {
  const body = JSON.stringify({
    model: "model",
    max_tokens: 4_000,
    stream: true,
    messages: [{ role: "user", content: [{ type: "text", text: PROMPT }] }],
  });
  return {
    pid: undefined,
    turn: async () => {
      const headers = { "content-type": "application/json", "x-api-key": "none" };
      const response = await fetch(`${url}/messages`, { method: "POST", headers, body });
      if (!(await response.text()).includes("message_stop")) throw new Error("the bare request failed");
    },
    end: () => Promise.resolve(),
  };
}
