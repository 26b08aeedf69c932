/**
 * Loaded before a program with `--import`: kills the process with SIGKILL right before the SQLite statement with the
 * configured number, counted from the store's opening. `KILL_AT` is `main:<number>` or `worker:<number>`: the thread whose
 * statements count.
 */
import { DatabaseSync, StatementSync } from "node:sqlite";
import { isMainThread } from "node:worker_threads";

type Method = (this: unknown, ...values: unknown[]) => unknown;

const [thread, number] = (process.env["KILL_AT"] ?? "").split(":");

function install(last: number): void {
  let count = 0;
  const watch = (of: object, name: string): void => {
    const original = Reflect.get(of, name) as Method;
    const watched: Method = function (...values) {
      count += 1;
      if (count === last) process.kill(process.pid, "SIGKILL");
      return original.apply(this, values);
    };
    Reflect.set(of, name, watched);
  };
  for (const name of ["run", "get", "all", "iterate"]) watch(StatementSync.prototype, name);
  watch(DatabaseSync.prototype, "exec");
}

if (thread === (isMainThread ? "main" : "worker")) install(Number(number));
