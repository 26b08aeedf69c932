/** A session in Claude Code's form, made for tests: decisions of the user, commands, files, errors, long results. */
import { createHash } from "node:crypto";
import type { Recorded } from "./fidelity-bench.ts";

const TURNS = 30;
const PARTS = ["hull", "keel", "mast", "rudder", "anchor", "winch", "galley", "bilge", "deck", "sail"];

function idOf(name: string): string {
  const hex = createHash("sha256").update(name).digest("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

function line(nth: number, type: "user" | "assistant", message: object): Record<string, unknown> {
  const timestamp = new Date(Date.UTC(2026, 5, 1, 8, 0, nth)).toISOString();
  const about = { isSidechain: false, userType: "external", version: "2.1.39", gitBranch: "main" };
  const place = { sessionId: idOf("session"), cwd: "/yard" };
  return { ...about, ...place, type, uuid: idOf(`line ${nth}`), timestamp, message };
}

export function madeSession(): Recorded {
  const lines: Record<string, unknown>[] = [];
  const user = (content: unknown): void => {
    lines.push(line(lines.length, "user", { role: "user", content }));
  };
  const assistant = (content: object): void => {
    const id = `msg_${lines.length}`;
    const usage = { input_tokens: 900, output_tokens: 10 };
    const about = { id, type: "message", role: "assistant", model: "claude-sonnet-4-5", usage };
    lines.push(line(lines.length, "assistant", { ...about, content: [content], stop_reason: null }));
  };
  for (let turn = 0; turn < TURNS; turn += 1) {
    const part = `${PARTS[turn % PARTS.length]}${turn}`;
    user(
      `Please look at the ${part} now. We must always paint the ${part} with colour ${part}-red before launch.`,
    );
    const path = `/yard/src/${part}/survey-${part}.ts`;
    const call = (id: string, name: string, input: object): void =>
      assistant({ type: "tool_use", id: `${id}${turn}`, name, input });
    const result = (id: string, content: string, isError = false): void =>
      user([{ type: "tool_result", tool_use_id: `${id}${turn}`, content, is_error: isError }]);
    call("toolu_r", "Read", { file_path: path });
    result("toolu_r", Array.from({ length: 150 }, (_, at) => `${at}→plank ${at} of ${part}`).join("\n"));
    const command = `npm run check -- --part ${part} --depth ${turn + 12}`;
    call("toolu_c", "Bash", { command, description: `Check the ${part} of the boat` });
    result("toolu_c", `YardError: the ${part} leaks at frame ${turn + 40} of the survey\n`, true);
    assistant({ type: "text", text: `The ${part} leaks and has ${turn + 100} rivets in its frame today.` });
  }
  return {
    name: "made",
    lines,
    summary: "Analysis: the parts of a boat were surveyed one by one. Some leak.",
  };
}
