/** A user with a home, a workspace and two versions of the command line. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ModelServer } from "../../test/servers/server.ts";
import { runCommand, type CommandResult } from "../command.ts";

const DEADLINE_MS = 180_000;

export interface Versions {
  /** Root folders of the two checkouts. */
  old: string;
  now: string;
}

export class HomeUser {
  readonly title: string;
  readonly root: string;
  readonly server: ModelServer;
  readonly #versions: Versions;
  readonly #more: Record<string, string>;

  /** `more`: variables beside those of every user. */
  constructor(
    title: string,
    folder: string,
    server: ModelServer,
    versions: Versions,
    more: Record<string, string> = {},
  ) {
    this.title = title;
    this.root = join(folder, title);
    this.server = server;
    this.#versions = versions;
    this.#more = more;
    for (const name of ["work", "home", "codex"]) mkdirSync(join(this.root, name), { recursive: true });
    this.write("work/note.txt", "The tide turns at six in the evening.\n");
  }

  get home(): string {
    return join(this.root, "home");
  }

  get env(): NodeJS.ProcessEnv {
    return {
      PATH: process.env["PATH"],
      HOME: this.root,
      PAGURUS_HOME: this.home,
      CODEX_HOME: join(this.root, "codex"),
      PAGURUS_NO_PROBE: "1",
      ...this.#more,
    };
  }

  write(path: string, text: string): void {
    mkdirSync(join(this.root, path, ".."), { recursive: true });
    writeFileSync(join(this.root, path), text);
  }

  read(path: string): string {
    return readFileSync(join(this.root, path), "utf8");
  }

  configure(config: object | string): void {
    this.write(
      "home/pagurus.json",
      typeof config === "string" ? config : JSON.stringify(config, undefined, 2),
    );
  }

  /** Throws where the old version fails: then there is nothing to compare with. */
  async old(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await this.#run(this.#versions.old, args);
    if (code === 0) return stdout;
    throw new Error(
      `${this.title}: the old version ended "${args.join(" ")}" with ${code}: ${stderr}${stdout}`,
    );
  }

  async now(...args: string[]): Promise<CommandResult> {
    return await this.#run(this.#versions.now, args);
  }

  async #run(checkout: string, args: readonly string[]): Promise<CommandResult> {
    const program = [join(checkout, "bin/pagurus.js"), ...args];
    const options = { cwd: join(this.root, "work"), env: this.env, deadlineMs: DEADLINE_MS };
    return await runCommand(process.execPath, program, options);
  }
}
