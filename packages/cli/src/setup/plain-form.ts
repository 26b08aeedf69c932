/** Setup in lines: for `TERM=dumb`, a screen reader, and tests. */
import { createInterface } from "node:readline";
import { printLine, type Cli } from "../cli.ts";
import type { FormRow, SetupForm } from "./setup-form.ts";

export class PlainForm implements SetupForm {
  /** The terminal would show it. */
  readonly hides = false;
  readonly #cli: Cli;

  constructor(cli: Cli) {
    this.#cli = cli;
  }

  print(line = ""): void {
    printLine(this.#cli.stdout, line);
  }

  async pick(title: string, rows: readonly FormRow[]): Promise<number | undefined> {
    this.print(title);
    for (const { key, label, detail } of rows)
      this.print(`  ${key}  ${label}${detail === undefined ? "" : ` (${detail})`}`);
    const keys = rows.map(({ key }) => key);
    for (;;) {
      const line = await this.#line(`${keys.join(", ")}, or q to leave [${keys[0] ?? ""}]: `);
      if (line === undefined || /^q(uit)?$/i.test(line)) return undefined;
      const at = line === "" ? 0 : keys.indexOf(line.toLowerCase());
      if (at >= 0) return at;
      this.print(`There is no choice "${line}".`);
    }
  }

  secret(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  /** Only the last line is shown: others would be many. */
  progress(line: string | undefined): void {
    if (line !== undefined && / 100 %/.test(line)) this.print(line);
  }

  /** Undefined at the end of the input. */
  async #line(question: string): Promise<string | undefined> {
    const { stdin, stdout } = this.#cli;
    stdout.write(question);
    const lines = createInterface({ input: stdin });
    try {
      return await new Promise((resolve) => {
        lines.once("line", (line) => resolve(line.trim())).once("close", () => resolve(undefined));
      });
    } finally {
      lines.close();
      stdin.pause();
    }
  }
}
