/** How an agent calls the host's tools over MCP, in addition to the reports in its own stream. */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { inputOf } from "../../runner/child-input.ts";

export interface McpServer {
  name: string;
  command: string;
  args: string[];
  env: { name: string; value: string }[];
}

export interface HostTools {
  call(name: string, args: object): Promise<unknown>;
  list(): Promise<unknown>;
  end(): void;
}

export async function hostTools({ command, args, env }: McpServer): Promise<HostTools> {
  const more = Object.fromEntries(env.map(({ name, value }) => [name, value]));
  const child = spawn(command, args, {
    stdio: ["pipe", "pipe", "ignore"],
    env: { ...process.env, ...more },
  });
  const open = new Map<number, (result: unknown) => void>();
  createInterface({ input: child.stdout }).on("line", (line) => {
    const { id = -1, result } = JSON.parse(line) as { id?: number; result?: unknown };
    open.get(id)?.(result);
  });
  let asked = 0;
  const send = (message: object): void =>
    void inputOf(child).write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const ask = (method: string, params: object): Promise<unknown> => {
    const id = (asked += 1);
    const answer = new Promise((resolve) => open.set(id, resolve));
    send({ id, method, params });
    return answer;
  };
  await ask("initialize", {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "agent", version: "1" },
  });
  send({ method: "notifications/initialized" });
  return {
    call: (name, args) => ask("tools/call", { name, arguments: args }),
    list: () => ask("tools/list", {}),
    end: () => inputOf(child).end(),
  };
}
