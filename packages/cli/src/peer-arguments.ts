/**
 * Command lines as users of Claude Code, Codex, Gemini CLI and pi type them, as the same of this program: `-p "hi"` is `run`, `--resume` and
 * `resume` are `chat --continue`. Imports nothing, so that a client that loads nothing else can use it.
 */

/** Names of an option elsewhere: its option here, and values that are called otherwise. `""`: it asks for what is done anyway. */
interface Peer {
  name: string;
  takes?: true;
  values?: Readonly<Record<string, string>>;
  /** Arguments in place of the option. */
  as?: readonly string[];
}

const AUTO: Peer = { name: "", as: ["--permission", "auto"] };

const PERMISSION_MODES: Peer = {
  name: "--permission",
  takes: true,
  values: {
    default: "ask",
    acceptEdits: "sandbox",
    auto_edit: "sandbox",
    "workspace-write": "sandbox",
    plan: "read-only",
    dontAsk: "deny",
    bypassPermissions: "auto",
    yolo: "auto",
  },
};

/** Options of other programs, in front of the prompt or after `run` and `chat`. */
const PEERS: Readonly<Record<string, Peer>> = {
  "--permission-mode": PERMISSION_MODES,
  "--approval-mode": PERMISSION_MODES,
  "--sandbox": PERMISSION_MODES,
  "--full-auto": { name: "", as: ["--permission", "sandbox"] },
  "--yolo": AUTO,
  "--dangerously-skip-permissions": AUTO,
  "--dangerously-bypass-approvals-and-sandbox": AUTO,
  "--cd": { name: "--cwd", takes: true },
  "--session-id": { name: "--session", takes: true },
  "--max-budget-usd": { name: "--max-cost", takes: true },
  "--effort": { name: "--thinking", takes: true, values: { minimal: "low", xhigh: "high", max: "high" } },
  "--append-system-prompt": { name: "--context", takes: true },
  "--output-format": { name: "", takes: true },
  "--verbose": { name: "" },
};

/** Options of `run` and `chat` with a value. A test compares them with the declarations. */
export const VALUED: ReadonlySet<string> = new Set(
  (
    "-s --session -a --agent -m --model --runtime -C --cwd --permission --thinking --max-cost " +
    "--context --context-file --untrusted -i --image"
  ).split(" "),
);

/** Those without one; `-p` and `--continue` have a meaning of their own before the command. */
export const FLAGS: ReadonlySet<string> = new Set(["--new", "--trust", "--heartbeat", "--json"]);

const PRINT: ReadonlySet<string> = new Set(["-p", "--print"]);
const LAST: ReadonlySet<string> = new Set(["-c", "--continue", "--last"]);
const RESUME: ReadonlySet<string> = new Set(["-r", "--resume"]);

/** The arguments of an option, and how many of the command line's it takes. */
function optionOf(given: readonly string[], at: number): { args: string[]; used: number } | undefined {
  const [, flag = "", , inline] = /^(--?[^=]+)(=(.*))?$/s.exec(given[at] ?? "") ?? [];
  const peer = Object.hasOwn(PEERS, flag) ? PEERS[flag] : undefined;
  const takes = peer ? peer.takes === true : VALUED.has(flag);
  const next = given[at + 1];
  const value = takes ? (inline ?? next) : undefined;
  const used = takes && inline === undefined && next !== undefined ? 2 : 1;
  if (flag === "--output-format") return { args: value === "text" ? [] : ["--json"], used };
  if (!peer)
    return VALUED.has(flag) || FLAGS.has(flag) ? { args: given.slice(at, at + used), used } : undefined;
  if (peer.as) return { args: [...peer.as], used };
  if (peer.name === "") return { args: [], used };
  if (value === undefined) return { args: [peer.name], used };
  const meant = peer.values && Object.hasOwn(peer.values, value) ? (peer.values[value] ?? value) : value;
  return { args: [peer.name, flag === "--append-system-prompt" ? `system=${meant}` : meant], used };
}

/** Options of other programs after `run` and `chat`; the rest stays as it is. */
function renamed(given: readonly string[]): string[] {
  const end = given.indexOf("--");
  const options = end === -1 ? given : given.slice(0, end);
  const out: string[] = [];
  for (let at = 0; at < options.length;) {
    const word = options[at] ?? "";
    const flag = word.split("=", 1)[0] ?? "";
    const found = Object.hasOwn(PEERS, flag) || VALUED.has(flag) ? optionOf(options, at) : undefined;
    if (found) out.push(...found.args);
    else out.push(word.replace(/^--resume(?==|$)/, "--continue"));
    at += found?.used ?? 1;
  }
  return end === -1 ? out : [...out, ...given.slice(end)];
}

interface Read {
  options: string[];
  words: string[];
  prints: boolean;
  /** The conversation to continue: the last one, one to choose from a list, or one by its key. */
  continues?: "last" | "choice" | { key: string };
}

/** Whether the word names a conversation and is no prompt. */
function isKey(word: string | undefined): word is string {
  return word !== undefined && !word.startsWith("-") && !/\s/.test(word);
}

/** Undefined where an option is unknown. */
function read(given: readonly string[], resumes: boolean): Read | undefined {
  const found: Read = { options: [], words: [], prints: false };
  if (resumes) found.continues = "choice";
  for (let at = 0; at < given.length; at += 1) {
    const word = given[at] ?? "";
    const [flag = "", inline] = word.split("=", 2);
    if (word === "--") {
      found.words.push(...given.slice(at + 1));
      break;
    }
    if (PRINT.has(word)) found.prints = true;
    else if (LAST.has(word)) found.continues = "last";
    else if (RESUME.has(flag)) {
      const next = given[at + 1];
      const key = inline ?? (isKey(next) ? next : undefined);
      found.continues = key === undefined ? "choice" : { key };
      if (key !== undefined && inline === undefined) at += 1;
    } else if (word !== "-" && word.startsWith("-")) {
      const option = optionOf(given, at);
      if (!option) return undefined;
      found.options.push(...option.args);
      at += option.used - 1;
    } else if (found.continues === "choice" && resumes && isKey(word)) found.continues = { key: word };
    else found.words.push(word);
  }
  return found;
}

/** Options that `chat` does not have. */
const ONE_TURN: ReadonlySet<string> = new Set(["-i", "--image", "--json", "--heartbeat"]);

function commandFrom(
  given: readonly string[],
  { resumes = false, runs = false, seated }: Form,
): readonly string[] {
  const found = read(given, resumes);
  if (!found) return given;
  const { options, words, prints, continues } = found;
  const isTurn = runs || prints || !seated || options.some((option) => ONE_TURN.has(option));
  const conversation =
    continues === undefined || (continues === "choice" && !isTurn)
      ? []
      : ["--continue", ...(typeof continues === "string" ? [] : [continues.key])];
  const prompt = words.length === 0 ? [] : ["--", ...words];
  return [isTurn ? "run" : "chat", ...options, ...conversation, ...prompt];
}

interface Form {
  resumes?: boolean;
  runs?: boolean;
  /** A person sits at a terminal. */
  seated: boolean;
}

function isTurnOption(word: string): boolean {
  const flag = word.split("=", 1)[0] ?? "";
  return [PRINT, LAST, RESUME, VALUED, FLAGS].some((set) => set.has(flag)) || Object.hasOwn(PEERS, flag);
}

/** The arguments with a command of this program; unchanged where nothing of them is another program's. */
export function peerArguments(given: readonly string[], seated: boolean): readonly string[] {
  const [first, ...rest] = given;
  if (first === undefined) return seated ? ["chat"] : [];
  if (first === "-v") return ["--version", ...rest];
  if (first === "run" || first === "chat") return [first, ...renamed(rest)];
  if (first === "exec")
    return rest[0] === "resume"
      ? commandFrom(rest.slice(1), { resumes: true, runs: true, seated })
      : commandFrom(rest, { runs: true, seated });
  if (first === "resume" || first === "continue") return commandFrom(rest, { resumes: true, seated });
  if (isTurnOption(first) || (/\s/.test(first) && !first.startsWith("-")))
    return commandFrom(given, { seated });
  return given;
}
