import { createRequire } from "node:module";
import { join } from "node:path";
import type { Logger as PinoLogger, pino as makePino } from "pino";
import type { PluginLogger } from "@pagurus/contract/host/plugin";
import { ensurePrivateDir } from "./atomic-files.ts";

/** Structured fields of a log line: ids, counts, durations, codes. Never prompts, contents or secrets. */
export type LogFields = Record<string, string | number | boolean | undefined>;

export interface Logger extends PluginLogger {
  child(fields: LogFields): Logger;
}

type Level = "debug" | "info" | "warn" | "error" | "silent";
const LEVEL_ORDER: Record<Level, number> = { debug: 0, info: 1, warn: 2, error: 3, silent: 4 };

interface Sink {
  write(level: Exclude<Level, "silent">, fields: Record<string, unknown>, message: string): void;
}

/** Opens the log file at the first written line, so that a quiet run never loads the log library. */
function fileSink(file: () => string, level: Level): Sink {
  let pino: PinoLogger | undefined;
  return {
    write(lineLevel, fields, message) {
      if (!pino) {
        const require = createRequire(import.meta.url);
        const make = require("pino") as typeof makePino;
        pino = make(
          { level, base: { pid: process.pid } },
          make.destination({ dest: file(), sync: true, mode: 0o600 }),
        );
      }
      pino[lineLevel](fields, message);
    },
  };
}

function logger(sink: Sink, level: Level, bound: LogFields): Logger {
  const at =
    (lineLevel: Exclude<Level, "silent">) =>
    (message: string, fields?: Record<string, unknown>): void => {
      if (LEVEL_ORDER[lineLevel] < LEVEL_ORDER[level]) return;
      sink.write(lineLevel, { ...bound, ...fields }, message);
    };
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    child: (fields) => logger(sink, level, { ...bound, ...fields }),
  };
}

/** A logger that appends JSON lines to `<home>/logs/pagurus.log`. Write errors disable it silently. */
export function createFileLogger(home: string, level: Level = "info"): Logger {
  const folder = join(home, "logs");
  const sink = fileSink(() => {
    ensurePrivateDir(folder);
    return join(folder, "pagurus.log");
  }, level);
  let broken = false;
  const guarded: Sink = {
    write(lineLevel, fields, message) {
      if (broken) return;
      try {
        sink.write(lineLevel, fields, message);
      } catch {
        // A full disk or read-only home must not fail a turn; degradations are events as well as log lines.
        broken = true;
      }
    },
  };
  return logger(guarded, level, {});
}

export const silentLogger: Logger = logger({ write: () => undefined }, "silent", {});
