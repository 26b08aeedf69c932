/** A generated Claude Code session: a job in a repository with decisions, commands, paths, errors and numbers. */
import { writeFileSync } from "node:fs";

type Line = Record<string, unknown>;

const WORDS =
  "the module reads every record and keeps its order while another part writes what changed since".split(" ");

function prose(seed: number, words: number): string {
  return Array.from({ length: words }, (_, at) => WORDS[(seed * 7 + at * 5) % WORDS.length]).join(" ");
}

/** So many turns of five calls each; each fifth turn ends with one of three files, which so was last seen 15 turns before. */
export function claudeLines(turns: number, seed = 1): Line[] {
  const lines: Line[] = [];
  let parent: string | null = null;
  let made = 0;
  const push = (line: Line): void => {
    const uuid = `u-${seed}-${lines.length}`;
    const timestamp = new Date(1_700_000_000_000 + lines.length * 20_000).toISOString();
    const sessionId = `generated-${seed}`;
    lines.push({ parentUuid: parent, sessionId, cwd: "/work", version: "2.1.0", uuid, timestamp, ...line });
    parent = uuid;
  };
  const call = (name: string, input: Line, result: string, isError = false): void => {
    const nth = made++;
    const id = `toolu_${seed}_${nth}`;
    const content = [
      { type: "text", text: `${prose(nth, 12)}, as ${nth + 100} records of part${nth} show.` },
      { type: "tool_use", id, name, input },
    ];
    push({
      type: "assistant",
      message: { id: `msg_${seed}_${nth}`, role: "assistant", model: "m", content },
    });
    const block = { type: "tool_result", tool_use_id: id, content: result, is_error: isError };
    push({ type: "user", message: { role: "user", content: [block] } });
  };
  const core = (nth: number): string => `/work/src/core${nth}/registry-of-writers-${nth}.ts`;
  for (let turn = 0; turn < turns; turn++) {
    const file = (nth: number): string => `/work/src/area${nth % 9}/part${nth}/module-${nth}.ts`;
    push({
      type: "user",
      message: {
        role: "user",
        content: `In step ${turn} always use the writer number ${turn + 300} for module-${turn}.ts. ${prose(turn, 20)}.`,
      },
    });
    call("Read", { file_path: file(turn) }, `${prose(turn, 260)}\n`);
    call(
      "Bash",
      {
        command: `npm test -- test/area${turn % 9}/module-${turn}.test.ts`,
        description: `Test the module of step ${turn}`,
      },
      `Error: expected ${turn * 3 + 11} records of module-${turn}, and there are none\n${prose(turn + 3, 120)}`,
      true,
    );
    call(
      "Edit",
      { file_path: file(turn), old_string: prose(turn, 9), new_string: prose(turn + 1, 9) },
      "done",
    );
    call("Grep", { pattern: `useWriter${turn}`, path: `/work/src/area${turn % 9}` }, prose(turn + 5, 180));
    call("Read", { file_path: turn % 5 === 4 ? core(turn % 3) : file(turn) }, prose(turn + 9, 160));
    const content = [{ type: "text", text: `Step ${turn} is done. ${prose(turn, 30)}.` }];
    push({
      type: "assistant",
      message: { id: `msg_${seed}_end_${turn}`, role: "assistant", model: "m", content },
    });
  }
  return lines;
}

export function writeLines(file: string, lines: readonly unknown[]): void {
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
}
