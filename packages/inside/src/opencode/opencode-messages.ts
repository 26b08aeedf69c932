/** OpenCode's messages as the host takes them. */
import type { ProgramMessage } from "../client/host-client.ts";
import type { OpenCodeMessage, OpenCodePart } from "./opencode-types.ts";

function textOf(parts: readonly OpenCodePart[]): string {
  const own = parts.filter(({ type, synthetic, ignored }) => type === "text" && !synthetic && !ignored);
  return own.map(({ text = "" }) => text).join("\n");
}

/** The messages of a list in order; a call and its result, which OpenCode has in one part, are two. Summaries are not the conversation's. */
export function programMessages(messages: readonly OpenCodeMessage[]): ProgramMessage[] {
  return messages.flatMap(({ info, parts }): ProgramMessage[] => {
    const { role } = info;
    const text = textOf(parts);
    if (role === "user") return text === "" ? [] : [{ role, text, calls: [], results: [] }];
    if (info.summary === true) return [];
    const calls: ProgramMessage["calls"] = [];
    const results: ProgramMessage["results"] = [];
    for (const { type, callID: id, tool: name, state } of parts) {
      if (type !== "tool" || id === undefined || name === undefined || !state) continue;
      calls.push({ id, name, input: state.input ?? {} });
      if (state.status === "completed") results.push({ id, text: state.output ?? "", isError: false });
      else if (state.status === "error") results.push({ id, text: state.error ?? "", isError: true });
    }
    const said: ProgramMessage = { role, text, calls, results: [] };
    const answered: ProgramMessage = { role: "user", text: "", calls: [], results };
    return [
      ...(text === "" && calls.length === 0 ? [] : [said]),
      ...(results.length === 0 ? [] : [answered]),
    ];
  });
}
