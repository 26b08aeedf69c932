import { statSync } from "node:fs";
import { flagArgument, numberArgument, stringArgument } from "../arguments.ts";
import { belowMatcher, shownPath } from "./glob-tool.ts";
import { findProgram } from "@pagurus/core/platform/executables";
import { textOutcome, type HostTool, type RunContext } from "../host-tool.ts";
import type { SearchHit, SearchQuery } from "./search-engine.ts";
import { ToolError } from "../tool-error.ts";
import type { Workspace } from "../places/workspace-boundary.ts";

const DEFAULT_LIMIT = 100;
const MOST_HITS = 1_000;
const MOST_HIT_CHARACTERS = 300;

interface Found {
  rows: string[];
  files: number;
  more: boolean;
}

async function collect(
  hits: AsyncIterable<SearchHit>,
  limit: number,
  shown: (path: string) => string,
): Promise<Found> {
  const rows: string[] = [];
  const files = new Set<string>();
  for await (const { path, line, text } of hits) {
    if (rows.length === limit) return { rows, files: files.size, more: true };
    files.add(path);
    const clamped = text.length > MOST_HIT_CHARACTERS ? `${text.slice(0, MOST_HIT_CHARACTERS)}…` : text;
    rows.push(`${shown(path)}:${line}: ${clamped}`);
  }
  return { rows, files: files.size, more: false };
}

async function search(
  program: string | undefined,
  query: SearchQuery,
  context: RunContext,
  take: (hits: AsyncIterable<SearchHit>) => Promise<Found>,
): Promise<Found> {
  const { searchWithNode, searchWithRipgrep } = await import("./search-engine.ts");
  if (program !== undefined) {
    try {
      return await take(searchWithRipgrep(program, query, context.signal));
    } catch {
      // Its expressions lack some features (look-around, back-references), and it may be broken: fall back to plain Node.
      context.signal.throwIfAborted();
    }
  }
  return await take(searchWithNode(query, context.signal));
}

function isFolder(path: string, shown: string): boolean {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (!stat) throw new ToolError(`"${shown}" does not exist.`);
  return stat.isDirectory();
}

const PARAMETERS = {
  type: "object",
  properties: {
    pattern: { type: "string" },
    path: { type: "string", description: "Folder or file, default the workspace" },
    glob: { type: "string", description: "Only files like `*.ts`" },
    ignore_case: { type: "boolean" },
    limit: { type: "integer", minimum: 1, maximum: MOST_HITS },
  },
  required: ["pattern"],
  additionalProperties: false,
};

/** `env` determines where ripgrep is searched. */
export function createSearchTool(env: Record<string, string | undefined>): HostTool {
  return {
    onlyReads: true,
    name: "search",
    description: "Search file contents by regular expression; gives `path:line: text`.",
    parameters: PARAMETERS,
    plan(params, workspace: Workspace) {
      const at = workspace.locate(stringArgument(params, "path") ?? ".");
      const pattern = stringArgument(params, "pattern") ?? "";
      if (pattern === "") throw new ToolError(`"pattern" is empty.`);
      if (pattern.includes("\n"))
        throw new ToolError(`"pattern" is matched line by line; leave out line breaks.`);
      const glob = stringArgument(params, "glob");
      const matches = glob === undefined ? () => true : belowMatcher(at.path, glob);
      const limit = numberArgument(params, "limit") ?? DEFAULT_LIMIT;
      return {
        access: { kind: "read", path: at },
        async run(context) {
          const folder = isFolder(at.path, at.shown);
          const query: SearchQuery = {
            start: at.path,
            isFolder: folder,
            pattern,
            ignoreCase: flagArgument(params, "ignore_case"),
            wanted: (path) => (!folder || matches(path)) && !context.hidden(path),
          };
          const { file: program, passedOver } = findProgram("rg", { env, workspaces: [workspace.root] });
          const found = await search(program, query, context, (hits) =>
            collect(hits, limit, (path) => shownPath(workspace, path)),
          );
          // Its result is the same without it, but slower.
          const skipped =
            program === undefined && passedOver.length > 0
              ? `\n[${passedOver.join(", ")} was not used: commands or other users can write there]`
              : "";
          const details = { hits: found.rows.length, files: found.files };
          if (found.rows.length === 0) return textOutcome(`No line matches "${pattern}".`, details);
          const note = found.more ? `\n[more than ${limit} hits; narrow the search or raise "limit"]` : "";
          return textOutcome(found.rows.join("\n") + note + skipped, details);
        },
      };
    },
  };
}
