/**
 * Whether the agent's own tools may do what they are about to do, which the host's hooks and permission rules decide. A
 * host's tool is let through: its own call asks.
 */
import type { HarnessTurn } from "../../contract/harness.ts";
import { fields, list, text, type Fields } from "./fields.ts";
import type { NativeCall } from "./tool-calls.ts";

/** Option that lets it happen, or not, this once; an agent that offers no such thing is taken at what it has. */
function optionFor(params: Fields, verdict: "allow" | "reject"): string | undefined {
  const options = list(params["options"]).map(fields);
  const of = (kind: string): Fields | undefined => options.find((option) => option["kind"] === kind);
  const chosen = of(`${verdict}_once`) ?? (verdict === "reject" ? of("reject_always") : undefined);
  return (chosen && text(chosen["optionId"])) || undefined;
}

interface AskedCall {
  name: string;
  arguments: Record<string, unknown>;
}

/**
 * The host's tools that the call would be, one for each file. What is like none of them, such as a tool of a server that
 * only the agent knows, is asked for as a command: the user is shown its name, and no rule for files or addresses fits.
 */
function asHostCalls(call: NativeCall): AskedCall[] {
  const given = call.part.arguments;
  const path = text(given["file_path"]) || text(given["path"]) || text(given["notebook_path"]);
  const paths = call.paths.length > 0 ? call.paths : path === "" ? [] : [path];
  switch (call.kind) {
    case "execute": {
      const command = commandOf(given) || call.title;
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
      const url = text(given["url"]);
      return url === "" ? [unlike(call)] : [{ name: "web_fetch", arguments: { url } }];
    }
    default:
      return HARMLESS.has(call.kind) ? [] : [unlike(call)];
  }
}

function unlike({ part, title }: NativeCall): AskedCall {
  const name = title === "" ? part.name : title;
  return { name: "shell", arguments: { command: `${name} ${JSON.stringify(part.arguments)}` } };
}

function orUnlike(call: NativeCall, calls: AskedCall[]): AskedCall[] {
  return calls.length === 0 ? [unlike(call)] : calls;
}

function commandOf({ command }: Readonly<Record<string, unknown>>): string {
  if (typeof command === "string") return command;
  return list(command).map(text).join(" ");
}

/** What does nothing outside the agent: its thoughts and plans. */
const HARMLESS: ReadonlySet<string> = new Set(["think", "switch_mode"]);

export interface Decision {
  /** Id of the option that is chosen; undefined where the turn is over, or the agent leaves no choice. */
  optionId: string | undefined;
  /** Why it must not happen. */
  refusal?: string;
}

/** The signal answers what is still asked. Never throws. */
export async function decide(
  turn: Pick<HarnessTurn, "tools" | "signal">,
  params: Fields,
  call: NativeCall,
): Promise<Decision> {
  if (turn.signal.aborted) return { optionId: undefined };
  const refuse = (refusal: string): Decision => ({ optionId: optionFor(params, "reject"), refusal });
  if (call.hostTool !== undefined) return { optionId: optionFor(params, "allow") };
  for (const { name, arguments: given } of asHostCalls(call)) {
    const part = { type: "toolCall" as const, id: call.part.id, name, arguments: given };
    const refusal = await turn.tools.permits(part, turn.signal);
    if (turn.signal.aborted) return { optionId: undefined };
    if (refusal !== undefined) return refuse(refusal);
  }
  return { optionId: optionFor(params, "allow") };
}
