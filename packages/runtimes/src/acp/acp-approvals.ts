/**
 * Permission for the agent's own tools, decided by the host's hooks and permission rules. Host tools are let through, since
 * their own call asks.
 */
import type { HarnessTurn } from "@pagurus/contract/harness/harness";
import type { NativeCall } from "./acp-tool-calls.ts";
import { type Fields, listOf, recordOf, stringOf } from "@pagurus/core/data/record-fields";

/** The option that allows or rejects the call once; else the next best one that the agent offers. */
function optionFor(params: Fields, verdict: "allow" | "reject"): string | undefined {
  const options = listOf(params["options"]).map(recordOf);
  const of = (kind: string): Fields | undefined => options.find((option) => option["kind"] === kind);
  const chosen = of(`${verdict}_once`) ?? (verdict === "reject" ? of("reject_always") : undefined);
  return (chosen && stringOf(chosen["optionId"])) || undefined;
}

interface AskedCall {
  name: string;
  arguments: Record<string, unknown>;
}

/**
 * The equivalent host tool calls, one for each file. A call without an equivalent, such as a tool of the agent's own MCP
 * server, is treated as a command: the user sees its name, and no rule for files or addresses matches.
 */
function asHostCalls(call: NativeCall): AskedCall[] {
  const args = call.part.arguments;
  const path = stringOf(args["file_path"]) || stringOf(args["path"]) || stringOf(args["notebook_path"]);
  const paths = call.paths.length > 0 ? call.paths : path === "" ? [] : [path];
  switch (call.kind) {
    case "execute": {
      const command = shellCommandText(args) || call.title;
      return command === "" ? [unlike(call)] : [{ name: "shell", arguments: { command } }];
    }
    case "edit":
    case "delete":
    case "move":
      return paths.map((each) => ({ name: "write", arguments: { path: each, content: call.newText(each) } }));
    case "read":
    case "search":
      return orUnlike(
        call,
        paths.map((each) => ({ name: "read", arguments: { path: each } })),
      );
    case "fetch": {
      const url = stringOf(args["url"]);
      return url === "" ? [unlike(call)] : [{ name: "web_fetch", arguments: { url } }];
    }
    default:
      return HARMLESS_KINDS.has(call.kind) ? [] : [unlike(call)];
  }
}

function unlike({ part, title }: NativeCall): AskedCall {
  const name = title === "" ? part.name : title;
  return { name: "shell", arguments: { command: `${name} ${JSON.stringify(part.arguments)}` } };
}

function orUnlike(call: NativeCall, calls: AskedCall[]): AskedCall[] {
  return calls.length === 0 ? [unlike(call)] : calls;
}

function shellCommandText({ command }: Readonly<Record<string, unknown>>): string {
  if (typeof command === "string") return command;
  return listOf(command).map(stringOf).join(" ");
}

/** Kinds without effect outside the agent: its thoughts and plans. */
const HARMLESS_KINDS: ReadonlySet<string> = new Set(["think", "switch_mode"]);

export interface Decision {
  /** Id of the chosen option; undefined when the turn is over, or the agent offers none. */
  optionId: string | undefined;
  /** Why it was rejected. */
  refusal?: string;
}

/** The signal cancels an open permission prompt. Never throws. */
export async function decide(
  turn: Pick<HarnessTurn, "tools" | "signal">,
  params: Fields,
  call: NativeCall,
): Promise<Decision> {
  if (turn.signal.aborted) return { optionId: undefined };
  const refuse = (refusal: string): Decision => ({ optionId: optionFor(params, "reject"), refusal });
  if (call.hostTool !== undefined) return { optionId: optionFor(params, "allow") };
  for (const { name, arguments: args } of asHostCalls(call)) {
    const part = { type: "toolCall" as const, id: call.part.id, name, arguments: args };
    const refusal = await turn.tools.permits(part, turn.signal);
    if (turn.signal.aborted) return { optionId: undefined };
    if (refusal !== undefined) return refuse(refusal);
  }
  return { optionId: optionFor(params, "allow") };
}
