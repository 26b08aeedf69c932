/**
 * The part of Claude Code's plugin interface that the mod uses, by the declarations that the program writes. A test with the real program
 * checks the mod against them.
 */
export interface ModMessage {
  role: "user" | "assistant";
  text: string;
  toolUses: readonly ModCall[];
  toolResults?: readonly ModResult[];
  uuid?: string;
  handle?: string;
}

export interface ModCall {
  tool_use_id: string;
  tool: string;
  input: Record<string, unknown>;
}

export interface ModResult {
  tool_use_id: string;
  text: string;
  isError: boolean;
}

/** `$`: all that a mod reaches outside of itself. */
export interface ModEngine {
  plugin: { root: string };
  fs: { read(path: string): Promise<string> };
  http: {
    fetch(
      url: string,
      init: { method: string; headers: Record<string, string>; body: string; socketPath: string },
    ): Promise<{ status: number; text: string }>;
  };
  clock: { sleep(ms: number): Promise<void> };
  process: { run(argv: readonly string[]): Promise<unknown> };
  ui: { log(text: string, options?: { to: "transcript" | "debug" }): void };
  session: {
    id(): Promise<string>;
    cwd(): Promise<string>;
    version(): Promise<{ version: string }>;
    messages(args: { agentId?: string; last?: number; after?: string }): Promise<unknown>;
  };
  tool: {
    register(tool: {
      name: string;
      description: string;
      inputSchema: object;
      isDeferred?: false;
    }): Promise<unknown>;
  };
  command: {
    register(command: { name: string; description: string; argumentHint: string }): Promise<unknown>;
  };
}

export interface CompactEvent {
  trigger: "manual" | "auto" | "plugin" | "precompute";
  agentId?: string;
  instructions?: string;
  messages: readonly ModMessage[];
}

export interface ToolEvent {
  tool: string;
  tool_use_id: string;
  agentId?: string;
}

export interface ToolAnswer {
  result?: unknown;
  text?: string;
  isError?: true | undefined;
  deny?: string | undefined;
  context?: readonly string[];
}
