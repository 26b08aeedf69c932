/** Claims about the chat's terminal, as those of `prove-lines.ts`. */
import { bench, tests, type Proof } from "./proof.ts";

/** Rows of the table and their tests in `full-terminal` (F), the day (D) or elsewhere; a row that is left out has the reason. */
const ROWS: Readonly<Record<string, string>> = {
  "Esc interrupts": "F, D",
  "input beside the working agent": "F, D",
  "queue and steer, visible, editable": "F, D",
  "live output": "F, D",
  "@file completion": "F, D",
  "command menu": "F, D",
  "argument completion": "test/cli/terminal/parts",
  "thinking level": "F (Alt-T), D",
  "history over sessions, Ctrl-R": "F, D",
  "external editor": "F, D",
  "new line": "F, D",
  "! shell": "F, D",
  "image paste": "F, D",
  "resume picker": "D",
  "fork, tree": "F, D",
  "transcript with search": "F, D",
  "earlier talk at the start": "F, D",
  "permission modes by key": "F",
  "sandboxed commands without a question": "terminal.4",
  "plan mode, todo list": "F, D",
  "/diff, /export, /copy, /init, /review": "F, D, test/command; the last two are prompts",
  "status line": "F, D",
  "tables, colours, word wrap": "F, D",
  "costs and limits": "D",
  "what was sent": "D, terminal.6",
  "lossless history, search": "D",
  "rewind restores files": "test/real/cli/undo-tmux",
};

function rowsText(): string {
  return Object.entries(ROWS)
    .map(([row, where]) => `${row} (${where})`)
    .join("; ");
}

export const TERMINAL: Record<string, Proof> = {
  "terminal.1": {
    claim: `Each row of the table against Claude Code, Codex and pi, in tmux: ${rowsText()} \`PAGURUS_SCREENS_FOLDER=<folder>\` keeps the screens.`,
    steps: [
      tests("the keys and the screen", "test/real/cli/full-terminal"),
      tests("rewinds with files", "test/real/cli/undo-tmux"),
      tests("the parts of the screen", "test/cli/terminal/"),
      tests("changes and branches", "test/command/changes"),
    ],
  },
  "terminal.2": {
    claim:
      "A day of 40 tasks in tmux, in three sizes, whose screens are those of docs/guides/screens; while 10 MB stream, a typed character is on the screen within 50 ms at p95.",
    steps: [tests("the day", "test/real/cli/day"), bench("terminal")],
  },
  "terminal.3": {
    claim:
      "`pagurus setup` leads from a fresh home to the first answer in at most 5 keys and 60 s, the import apart: without a key, with a key, with the logins of the real Codex and Claude Code, with a local server, with three agents' conversations. Nothing is written before a yes, and `--undo` restores the files byte for byte.",
    steps: [
      tests("from a fresh home to the first answer", "test/real/cli/setup-tmux"),
      tests("its parts, failures and undo", "test/cli/setup"),
    ],
  },
  "terminal.4": {
    claim:
      "The default mode: 40 everyday turns without one question, 20 that leave the sandbox each ask, and without a terminal each is denied with the truth; as root and as an ordinary user. Without a sandbox each change asks.",
    steps: [
      tests("the days in the program", "test/cli/everyday/"),
      tests("the decision", "test/tool/permission-sandbox"),
    ],
  },
  "terminal.5": {
    claim:
      "Commands start in a resident host through an entry that loads nothing of the package, with the output, signals and exit codes of their own process, whatever happens to the host; a turn that runs by itself loads no schema library.",
    steps: [
      tests(
        "the thin entry, equal output, kills, a stopped, an old and an idle host",
        "test/cli/resident/",
        "test/cli/server/restart",
      ),
      bench("start"),
    ],
  },
  "terminal.6": {
    claim:
      "Gauge, status line, /status, `pagurus status`, page and API agree in 200 random states; the point named is the point at which it compacts.",
    steps: [tests("numbers of the context", "test/command/true-numbers")],
  },
  "terminal.7": {
    claim:
      "150 mistakes at the command line get cause, remedy and exit code in one sentence; each command, key and address that one names exists.",
    steps: [
      tests("the mistakes", "test/cli/mistakes/"),
      tests("command lines of other agents", "test/cli/peer-arguments"),
    ],
  },
};
