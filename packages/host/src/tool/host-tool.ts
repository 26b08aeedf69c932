/** Interface of the host's own tools: a spec, and a plan that lists a call's effects before it runs. */
import { defined } from "@pagurus/core/data/defined";
import type { PermissionAnswer, PermissionQuestion } from "@pagurus/contract/host/run";
import type { ImagePart, TextPart } from "@pagurus/contract/message";
import type { ToolOutcome, ToolSpec } from "@pagurus/contract/harness/tool";
import type { ToolDefinition } from "./tool-definition.ts";
import type { Workspace, WorkspacePath } from "./places/workspace-boundary.ts";

/** Effects of a call; the permission rules use nothing else. */
export type Access =
  | { kind: "read"; path: WorkspacePath }
  /** `harmless`: what programs start from this file stays the same, as a new version number in `package.json`. */
  | {
      kind: "write";
      path: WorkspacePath;
      harmless?: boolean | undefined;
      /** It sends data over the network besides. */
      sends?: boolean | undefined;
    }
  | {
      kind: "shell";
      command: string;
      folder: WorkspacePath;
      /** It needs the network. */
      network?: boolean | undefined;
      /** A runtime runs it itself: no sandbox of the host is around it. */
      unconfined?: boolean | undefined;
    }
  /** `local`: the host is this machine or a private network. */
  | { kind: "fetch"; url: URL; local: boolean }
  /**
   * A tool of a plugin (or of `source`), whose effects the host cannot know unless it declares itself read-only. A remembered rule
   * is bound to `definition`.
   */
  | {
      kind: "plugin";
      readOnly: boolean;
      source?: string | undefined;
      definition?: ToolDefinition | undefined;
    };

export interface RunContext {
  readonly signal: AbortSignal;
  /** Whether a command that runs now has the network; undefined: as configured. */
  readonly network?: "on" | "off" | undefined;
  /** Shows output while the tool runs. */
  output(chunk: string): void;
  /** True for a file that a deny rule keeps from the reading tools; absolute path. */
  hidden(path: string): boolean;
  /** Asks the user to keep what a command left in places that programs start from. Absent: no question is possible. */
  keep?: ((places: readonly string[], preview: string) => Promise<boolean>) | undefined;
  /** Shows a question of the tool to the person. Absent: no question is possible. */
  ask?:
    | ((question: Pick<PermissionQuestion, "summary" | "form" | "signal">) => Promise<PermissionAnswer>)
    | undefined;
  /** Reports something to the user, beside the outcome for the model. */
  notice?: ((detail: string) => void) | undefined;
}

export interface ToolPlan {
  access: Access;
  /** Preview of the change, for the permission prompt. Created only for a prompt. */
  preview?(): string | Promise<string>;
  /** May throw `ToolError`; any other error is reported as a defect of the tool. */
  run(context: RunContext): Promise<ToolOutcome>;
}

export interface HostTool extends ToolSpec {
  /** Read-only: its calls run in parallel; others run alone, in order. */
  readonly onlyReads: boolean;
  /** Called with arguments that match `parameters`, before the permission check. No side effects. Throws `ToolError`. */
  plan(params: Record<string, unknown>, workspace: Workspace): ToolPlan | Promise<ToolPlan>;
}

export function textOutcome(text: string, details?: Record<string, unknown>): ToolOutcome {
  return partsOutcome([{ type: "text", text }], details);
}

export function partsOutcome(
  content: (TextPart | ImagePart)[],
  details?: Record<string, unknown>,
): ToolOutcome {
  return { content, isError: false, ...defined({ details }) };
}

export function failedOutcome(text: string, details?: Record<string, unknown>): ToolOutcome {
  return { content: [{ type: "text", text }], isError: true, ...defined({ details }) };
}
