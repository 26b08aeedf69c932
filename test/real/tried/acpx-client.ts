/** acpx in front of `pagurus acp`, as its user types it. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { attempt } from "../../../packages/core/src/data/attempt.ts";
import { processIds } from "../../../packages/core/src/platform/process-group.ts";
import { LAUNCHER } from "../../runner/program.ts";
import { until } from "../../runner/until.ts";
import type { Setting } from "../../turn/setting.ts";

const CALL_MS = 120_000;

export interface AcpxAnswer {
  code: number;
  out: string;
  err: string;
}

export class AcpxClient {
  readonly #command: string;
  readonly #setting: Pick<Setting, "env" | "workspace">;

  constructor(command: string, setting: Pick<Setting, "env" | "workspace">) {
    this.#command = command;
    this.#setting = setting;
  }

  /** Asks again when acpx met its own process of the call before in the moment in which that ended. */
  async run(...args: string[]): Promise<AcpxAnswer> {
    let ran = await this.#once(...args);
    await until(async () => {
      const metItsEnd = /^(?:\[error\] RUNTIME: Queue owner is shutting down\s*)?$/.test(ran.out);
      if (!metItsEnd || !/read ECONNRESET|Queue owner/.test(ran.out + ran.err)) return true;
      ran = await this.#once(...args);
      return false;
    });
    return ran;
  }

  /** Throws the output of a call that fails. */
  async done(...args: string[]): Promise<AcpxAnswer> {
    const ran = await this.run(...args);
    if (ran.code === 0) return ran;
    throw new Error(
      `acpx ${args.slice(0, 2).join(" ")} ended with code ${ran.code}: ${(ran.err + ran.out).slice(-400)}`,
    );
  }

  /** Resolves when acpx's process of the call before has ended, and the agent with it. */
  async ended(): Promise<void> {
    const home = `PAGURUS_HOME=${this.#setting.env["PAGURUS_HOME"]}`;
    const isOurs = (pid: number): boolean =>
      pid !== process.pid &&
      attempt(() => readFileSync(`/proc/${pid}/environ`, "utf8"))?.includes(home) === true;
    await until(() => !processIds().some(isOurs));
  }

  #once(...args: string[]): Promise<AcpxAnswer> {
    const { workspace, env } = this.#setting;
    const agent = `${process.execPath} ${LAUNCHER} acp`;
    const words = [this.#command, "--agent", agent, "--cwd", workspace, "--ttl", "1", ...args];
    return new Promise((resolve) => {
      execFile(process.execPath, words, { env, timeout: CALL_MS }, (error, out, err) => {
        resolve({ code: error === null ? 0 : Number(error.code ?? 1), out, err });
      });
    });
  }
}
