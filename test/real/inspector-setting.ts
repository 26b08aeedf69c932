/** A browser with the inspector's page, over a home with a session whose words are hostile. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { chromium, type Browser, type BrowserContextOptions, type Page } from "playwright-core";
import { LAUNCHER } from "../runner/program.ts";
import { start, type Setting } from "../turn/setting.ts";

/** Debian's chromium, of the PATH. */
export function openBrowser(): Promise<Browser> {
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  const executablePath = folders.map((folder) => join(folder, "chromium")).find(existsSync);
  if (executablePath === undefined)
    throw new Error("There is no chromium; install it with apt-get install chromium.");
  return chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
}

export async function openPage(
  browser: Browser,
  options: BrowserContextOptions = {},
): Promise<{ page: Page; problems: string[]; asked: string[] }> {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const problems: string[] = [];
  const asked: string[] = [];
  page.on("pageerror", (error) => problems.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => {
    problems.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("console", (message) => {
    if (message.type() === "error") problems.push(`console: ${message.text()}`);
  });
  page.on("request", (request) => asked.push(request.url()));
  return { page, problems, asked };
}

/** A `pagurus inspect` process, and the address that it prints. */
export class InspectProcess {
  readonly child: ChildProcess;
  readonly address: Promise<string>;

  constructor(setting: Setting, args: readonly string[] = []) {
    const command = ["inspect", ...args];
    this.child = spawn(process.execPath, [LAUNCHER, ...command], {
      cwd: setting.workspace,
      env: setting.env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    this.address = new Promise((resolve, reject) => {
      const take = (text: string): void => {
        output += text;
        const [found] = /http:\S+sign-in\S+/.exec(output) ?? [];
        if (found !== undefined && output.includes("Stop it")) resolve(found);
      };
      this.child.stdout?.setEncoding("utf8").on("data", take);
      this.child.stderr?.setEncoding("utf8").on("data", take);
      this.child.once("exit", (code) => reject(new Error(`inspect ended with ${code}: ${output}`)));
    });
  }

  async stop(): Promise<number | null> {
    if (this.child.exitCode === null) {
      this.child.kill("SIGINT");
      await once(this.child, "exit");
    }
    return this.child.exitCode;
  }
}

export async function runTurn(setting: Setting, prompt: string, args: readonly string[] = []): Promise<void> {
  const { code, stderr } = await start(setting, ["run", "--json", ...args, prompt]).finished;
  if (code !== 0) throw new Error(`the turn ended with ${code}: ${stderr}`);
}
