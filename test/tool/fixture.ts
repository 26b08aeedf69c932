/** A workspace in a temporary folder and a tool set over it. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";
import type { ToolOutcome } from "../../packages/contract/src/harness/tool.ts";
import { createToolSet, type ToolSetOptions } from "../../packages/host/src/tool/toolset.ts";

export interface Fixture {
  /** Contains `root` and files outside of it. */
  base: string;
  root: string;
  write(path: string, content: string | Uint8Array): string;
  call(name: string, params: Record<string, unknown>, signal?: AbortSignal): Promise<ToolOutcome>;
  set: ReturnType<typeof createToolSet>;
}

export function textOf(outcome: ToolOutcome): string {
  return outcome.content.map((part) => (part.type === "text" ? part.text : `<${part.mimeType}>`)).join("\n");
}

/** The system's own, which a sandbox replaces; the runner may set another for the jobs. */
const TEMPORARY = process.platform === "linux" ? "/tmp" : tmpdir();

export function temporaryFolder(t: TestContext): string {
  const folder = realpathSync(mkdtempSync(join(TEMPORARY, "pagurus-tool-")));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export function fixture(t: TestContext, options: Partial<ToolSetOptions> = {}): Fixture {
  const base = temporaryFolder(t);
  const root = join(base, "workspace");
  mkdirSync(root);
  const set = createToolSet({
    cwd: root,
    permission: { mode: "auto" },
    context: { sessionKey: "main", sessionId: "s1" },
    ...options,
  });
  let calls = 0;
  return {
    base,
    root,
    set,
    write(path, content) {
      const full = join(root, path);
      mkdirSync(dirname(full), { recursive: true });
      writeFileSync(full, content);
      return full;
    },
    call: (name, params, signal = new AbortController().signal) =>
      set.call({ type: "toolCall", id: `c${++calls}`, name, arguments: params }, signal),
  };
}
