/** The host's part of the system prompt: base instructions, project instructions, the memory's section; and what it weighs. */
import { fencedFile } from "@pagurus/contract/fence";
import type { ContextEngine } from "@pagurus/contract/engine/engine";
import type { ToolSet } from "@pagurus/contract/harness/tool";
import { repeatedTextTokens } from "@pagurus/core/tokens/repeated-text";
import { projectInstructions } from "../../tool/project-instructions.ts";
import { governs } from "../context/native-context.ts";
import type { SystemPiece } from "../receipts/receipt-parts.ts";
import { BASE_INSTRUCTIONS } from "./base-instructions.ts";
import { defined } from "@pagurus/core/data/defined";

/**
 * The base system prompt: ours, the working folder, then the project's own instruction files, outermost first. `trusted`: whether the user
 * trusts the folder.
 */
export function systemPieces(cwd: string, trusted: boolean): SystemPiece[] {
  return readSystem(cwd, trusted).pieces;
}

/** A folder's name may hold line breaks, which would look like another instruction. */
function pathOnOneLine(path: string): string {
  return path.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ");
}

/** Same as `systemPieces`, with a sentence for each instruction file that is missing or cut. */
export function readSystem(cwd: string, trusted: boolean): { pieces: SystemPiece[]; notices: string[] } {
  const pieces: SystemPiece[] = [
    { source: "system", text: `${BASE_INSTRUCTIONS}\n\nWorking folder: ${pathOnOneLine(cwd)}` },
  ];
  const notices: string[] = [];
  for (const { path, text, cut, unreadable, unconditional } of projectInstructions(cwd)) {
    if (unreadable !== undefined) {
      notices.push(`The project instructions in ${path} were left out: ${unreadable}.`);
      continue;
    }
    if (unconditional !== undefined)
      notices.push(`The rule in ${path} counts for all files and not for certain ones: ${unconditional}.`);
    if (cut)
      notices.push(
        `Of the project instructions in ${path} the first ${cut.toBytes} of ${cut.fromBytes} bytes are sent.`,
      );
    pieces.push({
      source: "instructions",
      path,
      text: fencedFile("project_instructions", { path, text, trusted }),
      ...defined({ trimmed: cut }),
    });
  }
  return { pieces, notices };
}

/** Active memory section that the host adds when the engine does not govern the context; other engines add it themselves. */
export function memoryPieces(engine: ContextEngine, sections: readonly string[]): SystemPiece[] {
  if (governs(engine) || sections.length === 0) return [];
  return [{ source: "memory", text: sections.join("\n") }];
}

export function fixedTokens(system: readonly SystemPiece[], tools: ToolSet): number {
  const text = system.map((piece) => piece.text).join("\n\n") + JSON.stringify(tools.specs);
  return repeatedTextTokens(text);
}
