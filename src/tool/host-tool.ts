/** How the host's own tools are written: a spec, and a plan that says what a call touches before it runs. */
import type { ImagePart, TextPart } from "../contract/message.ts";
import type { ToolOutcome, ToolSpec } from "../contract/tool.ts";
import type { Workspace, WorkspacePath } from "./workspace.ts";

/** What a call would touch; the permission rules decide on nothing else. */
export type Access =
  | { kind: "read" | "write"; path: WorkspacePath }
  | { kind: "shell"; command: string; folder: WorkspacePath }
  /** `local`: the host is this machine or a private network. */
  | { kind: "fetch"; url: URL; local: boolean }
  /** A tool of a plugin (or of `source`), whose effects the host cannot know unless it says that it only reads. */
  | { kind: "plugin"; readOnly: boolean; source?: string | undefined };

export interface RunContext {
  readonly signal: AbortSignal;
  /** Shows output while the tool runs. */
  output(chunk: string): void;
  /** True for a file that a deny rule keeps from the reading tools; absolute path. */
  hidden(path: string): boolean;
  /** Runs `work` after every earlier `work` of the same path has settled. */
  exclusive<T>(path: string, work: () => Promise<T>): Promise<T>;
}

export interface ToolPlan {
  access: Access;
  /** What the call would change, for the person who is asked. Made only when somebody is asked. */
  preview?(): string | Promise<string>;
  /** May throw `ToolError`; anything else is reported as a defect of the tool. */
  run(context: RunContext): Promise<ToolOutcome>;
}

export interface HostTool extends ToolSpec {
  /** Called with arguments that fit `parameters`, before permission is asked. No side effects. Throws `ToolError`. */
  plan(params: Record<string, unknown>, workspace: Workspace): ToolPlan | Promise<ToolPlan>;
}

export function textOutcome(text: string, details?: Record<string, unknown>): ToolOutcome {
  return partsOutcome([{ type: "text", text }], details);
}

export function partsOutcome(
  content: (TextPart | ImagePart)[],
  details?: Record<string, unknown>,
): ToolOutcome {
  return { content, isError: false, ...(details && { details }) };
}

export function failedOutcome(text: string, details?: Record<string, unknown>): ToolOutcome {
  return { content: [{ type: "text", text }], isError: true, ...(details && { details }) };
}
