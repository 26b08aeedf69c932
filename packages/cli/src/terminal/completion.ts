/** Completion in the input: commands with their arguments after a slash, files after an @. */
import { fuzzyFilter, type AutocompleteItem, type AutocompleteProvider } from "@earendil-works/pi-tui";
import { oneLine } from "@pagurus/host/command/layout";

export interface CommandRow {
  /** Without the slash. */
  name: string;
  usage: string;
  summary: string;
}

export interface CompletionSources {
  commands(): Promise<readonly CommandRow[]>;
  /** Values for the argument of a command, for example the models of `/model`. */
  values(command: string): Promise<readonly AutocompleteItem[]>;
  /** Paths of the workspace, relative to it, with `/` at the end of a folder. */
  files(signal: AbortSignal): Promise<readonly string[]>;
}

type Suggestions = Awaited<ReturnType<AutocompleteProvider["getSuggestions"]>>;

const MOST_ITEMS = 40;

/** The file reference that ends at the cursor: `@src/ma`, `@"my fi`. */
const REFERENCE = /(?:^|[\s([{,;])(@(?:"[^"\n]*|[^\s"@]*))$/;

export class Completion implements AutocompleteProvider {
  readonly triggerCharacters = ["@"];
  readonly #sources: CompletionSources;

  constructor(sources: CompletionSources) {
    this.#sources = sources;
  }

  async getSuggestions(
    lines: string[],
    cursorLine: number,
    cursorCol: number,
    { signal }: { signal: AbortSignal },
  ): Promise<Suggestions> {
    const before = (lines[cursorLine] ?? "").slice(0, cursorCol);
    const reference = REFERENCE.exec(before)?.[1];
    if (reference !== undefined) return this.#files(reference, signal);
    if (cursorLine > 0) return null;
    const command = /^\/(\S*)$/.exec(before)?.[1];
    if (command !== undefined) return this.#commands(command);
    const [, name, argument] = /^\/(\S+)\s+(\S*)$/.exec(before) ?? [];
    return name === undefined ? null : this.#values(name, argument ?? "");
  }

  async #commands(typed: string): Promise<Suggestions> {
    const rows = await this.#sources.commands();
    const lower = typed.toLowerCase();
    const starts = rows.filter(({ name }) => name.startsWith(lower));
    const found = starts.length > 0 ? starts : fuzzyFilter([...rows], lower, ({ name }) => name);
    const items = found.map(({ name, usage, summary }) => ({
      value: name,
      label: `/${name}${usage === "" ? "" : ` ${usage}`}`,
      description: oneLine(summary, 200),
    }));
    return items.length === 0 ? null : { items, prefix: `/${typed}` };
  }

  async #values(command: string, typed: string): Promise<Suggestions> {
    const all = [...(await this.#sources.values(command))];
    // Enter sends a line that is complete.
    if (all.some(({ value }) => value === typed)) return null;
    const items = (typed === "" ? all : fuzzyFilter(all, typed, ({ value }) => value)).slice(0, MOST_ITEMS);
    return items.length === 0 ? null : { items, prefix: typed };
  }

  async #files(reference: string, signal: AbortSignal): Promise<Suggestions> {
    const typed = reference.replace(/^@"?/, "");
    const paths = [...(await this.#sources.files(signal))];
    const found = typed === "" ? paths : fuzzyFilter(paths, typed, (path) => path);
    const items = found.slice(0, MOST_ITEMS).map((path) => ({ value: path, label: path }));
    return items.length === 0 || signal.aborted ? null : { items, prefix: reference };
  }

  applyCompletion(
    lines: string[],
    cursorLine: number,
    cursorCol: number,
    item: AutocompleteItem,
    prefix: string,
  ): { lines: string[]; cursorLine: number; cursorCol: number } {
    const line = lines[cursorLine] ?? "";
    const start = line.slice(0, cursorCol - prefix.length);
    const end = line.slice(cursorCol);
    const put = prefix.startsWith("@")
      ? fileText(item.value)
      : prefix.startsWith("/")
        ? `/${item.value} `
        : `${item.value} `;
    const made = lines.with(cursorLine, start + put + end.replace(/^ /, ""));
    return { lines: made, cursorLine, cursorCol: start.length + put.length };
  }
}

/** A reference as attachments read it; a folder stays open for a name in it. */
function fileText(path: string): string {
  const isQuoted = /\s/.test(path);
  if (path.endsWith("/")) return isQuoted ? `@"${path}` : `@${path}`;
  return isQuoted ? `@"${path}" ` : `@${path} `;
}
