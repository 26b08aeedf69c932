/** The real Claude Code in a terminal, with compactions that the engine answers inside it. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { needTerminal } from "../../servers/terminal.ts";
import { answer, leadRounds } from "./claude-talk.ts";
import { ClaudeTerminal, settle } from "./claude-terminal.ts";
import { InsideBench, WINDOW } from "./inside-bench.ts";

describe("Claude Code in a terminal with the engine inside", { timeout: 1_500_000 }, () => {
  let bench: InsideBench | undefined;
  const terminals: ClaudeTerminal[] = [];
  after(async () => {
    terminals.at(-1)?.close();
    await bench?.end();
  });

  it("has its compactions answered without a model request, and resumes with the kept messages and no old ones", async () => {
    needTerminal();
    const opened = await InsideBench.open(answer);
    bench = opened;
    await opened.install();
    settle(opened);
    await opened.startHost();
    await leadRounds(opened, (resume) => {
      const root = join(opened.root, `t${terminals.length}`);
      mkdirSync(root);
      const terminal = new ClaudeTerminal(opened, root, resume, WINDOW);
      terminals.push(terminal);
      return terminal;
    });
  });
});
