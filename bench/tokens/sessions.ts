/** Recorded sessions of a coding agent, from a folder next to the checkout. */
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";

const FOLDER = join(import.meta.dirname, "..", "..", "..", "shared", "data", "coding-sessions");

interface RecordedPart {
  type?: string;
  text?: string;
  thinking?: string;
  input?: unknown;
  content?: string | RecordedPart[];
}

function textsOf(content: string | readonly RecordedPart[] | undefined): string[] {
  if (content === undefined) return [];
  if (typeof content === "string") return [content];
  return content.flatMap((part) => {
    if (part.type === "tool_use") return [JSON.stringify(part.input)];
    if (part.type === "tool_result") return textsOf(part.content);
    return [part.text ?? part.thinking ?? ""];
  });
}

/** Every text, thought, tool call and tool result of the sessions; none without such a folder. */
export function sessionTexts(): string[] {
  if (!existsSync(FOLDER)) return [];
  const texts: string[] = [];
  for (const name of globSync("*.jsonl", { cwd: FOLDER }).toSorted()) {
    for (const line of readFileSync(join(FOLDER, name), "utf8").split("\n")) {
      if (line === "") continue;
      const entry = JSON.parse(line) as { message?: { content?: string | RecordedPart[] } };
      texts.push(...textsOf(entry.message?.content));
    }
  }
  return texts.filter((text) => text !== "");
}
