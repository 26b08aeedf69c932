import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { captureFolder, capturesDir } from "../../../packages/core/src/config/captures.ts";
import { CaptureLog, type CaptureFacts } from "../../../packages/gateway/src/capture/capture.ts";
import type { CaptureOutcome, CaptureRecord } from "../../../packages/gateway/src/capture/capture-record.ts";

/** A home folder of its own, with a log that captures into it. */
export class Captures {
  readonly home = mkdtempSync(join(tmpdir(), "pagurus-captures-"));
  readonly warnings: string[] = [];
  readonly log: CaptureLog;

  constructor(limits: { maxBytes?: number; keep?: number } = {}) {
    this.log = this.another(limits);
  }

  another(limits: { maxBytes?: number; keep?: number } = {}): CaptureLog {
    const logger = { warn: (message: string) => void this.warnings.push(message) };
    return new CaptureLog({ home: this.home, logger, maxBytes: 2 ** 28, ...limits });
  }

  folder(sessionKey = "main", agentId = "main"): string {
    return captureFolder(this.home, agentId, sessionKey);
  }

  files(sessionKey = "main"): string[] {
    return readdirSync(this.folder(sessionKey)).toSorted();
  }

  json(number: number, sessionKey = "main"): CaptureRecord {
    const name = `${String(number).padStart(6, "0")}.json`;
    return JSON.parse(readFileSync(join(this.folder(sessionKey), name), "utf8")) as CaptureRecord;
  }

  bytes(name: string, sessionKey = "main"): Buffer {
    return readFileSync(join(this.folder(sessionKey), name));
  }

  /** Bytes of all captures. */
  size(): number {
    const names = readdirSync(capturesDir(this.home), { recursive: true, encoding: "utf8" });
    return names
      .map((name) => statSync(join(capturesDir(this.home), name)))
      .reduce((sum, stats) => sum + (stats.isFile() ? stats.size : 0), 0);
  }

  remove(): void {
    rmSync(this.home, { recursive: true, force: true });
  }
}

export function facts(
  body: unknown,
  more: Partial<Omit<CaptureFacts, "body">> & { key?: string } = {},
): CaptureFacts {
  const { key = "main", ...rest } = more;
  return {
    sessionKey: key,
    runtime: "codex",
    route: "r1",
    request: 0,
    kind: "main",
    api: "openai-completions",
    model: "m-1",
    method: "POST",
    path: "/chat/completions",
    rawHeaders: ["Content-Type", "application/json"],
    body: Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body)),
    ...rest,
  };
}

/** Captures a passed request with an answer. */
export function passed(
  log: CaptureLog,
  about: CaptureFacts,
  answer = "data: [DONE]\n\n",
  outcome: Partial<CaptureOutcome> = {},
): void {
  const request = log.begin(about);
  request.sent("model.example:443", [about.body], { replaced: false });
  request.answered({ status: 200, rawHeaders: ["content-type", "text/event-stream"] });
  request.chunk(Buffer.from(answer));
  request.end({ cut: false, left: false, answeredBy: "upstream", ...outcome });
}
