/**
 * Contains unhandled errors of plugin code: a rejected promise without a handler, a throw in a timer or an event listener. By
 * default Node ends the process for each of them. Errors of other code keep Node's treatment.
 *
 * The plugin is identified by the asynchronous context, which `asPlugin` sets around each call of plugin code, else by the
 * files in the error's stack. Process-wide, since Node's events are; a second copy of the package shares it.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { realpathSync } from "node:fs";
import { sep } from "node:path";
import { fileURLToPath } from "node:url";

/** Called with each contained error; at any time after the plugin was loaded. */
export type ContainedReport = (error: unknown) => void;

interface Contained {
  id: string;
  /** Folder (or file) whose code is the plugin's, its dependencies included. */
  root: string;
  report: ContainedReport;
}

interface State {
  running: AsyncLocalStorage<string>;
  /** One per load; if a host loads a plugin again, the newer report is used. */
  plugins: Map<string, Contained>;
  installed: boolean;
}

const KEY = Symbol.for("pagurus.containment/1");

function state(): State {
  const holder = globalThis as { [KEY]?: State };
  return (holder[KEY] ??= { running: new AsyncLocalStorage(), plugins: new Map(), installed: false });
}

/** Runs code of a plugin; unhandled errors of what it starts are attributed to the plugin. */
export function asPlugin<T>(id: string, work: () => T): T {
  return state().running.run(id, work);
}

/**
 * An object of a plugin, such as its engine, each of whose members runs as the plugin: what it leaves running has no other sign of whose it
 * is where it throws a text. Members are called on the object itself, which may be frozen or have private fields.
 */
export function ownedByPlugin<T>(id: string, object: T): T {
  // The caller refuses what is no object.
  if (typeof object !== "object" || object === null) return object;
  return new Proxy(Object.create(object) as T & object, {
    set: (_, name, value) => Reflect.set(object, name, value, object),
    get: (_, name) => {
      const value: unknown = Reflect.get(object, name, object);
      if (typeof value !== "function") return value;
      return (...given: unknown[]): unknown => asPlugin(id, () => Reflect.apply(value, object, given));
    },
  });
}

/** Contains errors of a plugin from now on, for the rest of the process: its code cannot be unloaded. */
export function containPlugin(id: string, root: string, report: ContainedReport): void {
  const { plugins } = state();
  plugins.delete(id);
  plugins.set(id, { id, root: realPluginPath(root), report });
  install();
}

function realPluginPath(path: string): string {
  try {
    // Stacks name modules by their real paths.
    return realpathSync(path);
  } catch {
    // A removed root has no code in any stack.
    return path;
  }
}

function install(): void {
  const shared = state();
  if (shared.installed) return;
  shared.installed = true;
  const onRejection = (reason: unknown): void => {
    if (contained(reason) || process.listenerCount("unhandledRejection") > 1) return;
    // Without this listener Node handles the rejection by its default.
    process.off("unhandledRejection", onRejection);
    void Promise.reject(reason);
    setImmediate(() => process.on("unhandledRejection", onRejection));
  };
  const onException = (error: unknown): void => {
    if (contained(error) || process.listenerCount("uncaughtException") > 1) return;
    process.off("uncaughtException", onException);
    setImmediate(() => {
      throw error;
    });
  };
  process.on("unhandledRejection", onRejection);
  process.on("uncaughtException", onException);
}

function contained(error: unknown): boolean {
  const plugin = authorOf(error);
  if (!plugin) return false;
  plugin.report(error);
  return true;
}

function authorOf(error: unknown): Contained | undefined {
  const { running, plugins } = state();
  const id = running.getStore();
  const current = id === undefined ? undefined : plugins.get(id);
  if (current) return current;
  const files = filesIn(stackOf(error));
  return [...plugins.values()].findLast(({ root }) =>
    files.some((file) => file === root || file.startsWith(root + sep)),
  );
}

/** Any value can be thrown, even one whose members throw. */
function stackOf(error: unknown): string {
  try {
    const stack: unknown = typeof error === "object" && error !== null && "stack" in error ? error.stack : "";
    return typeof stack === "string" ? stack : "";
  } catch {
    // Without a stack only the asynchronous context can name a plugin.
    return "";
  }
}

const FRAME = /^\s+at .*?\(?(file:\/\/[^\s()]+|\/[^()]+|[A-Za-z]:\\[^()]+?):\d+(?::\d+)?\)?$/;

function filesIn(stack: string): string[] {
  return stack.split("\n").flatMap((line) => {
    const place = FRAME.exec(line)?.[1];
    if (place === undefined) return [];
    return place.startsWith("file:") ? pathOf(place) : [place];
  });
}

function pathOf(url: string): string[] {
  try {
    return [fileURLToPath(url.replace(/[?#].*$/, ""))];
  } catch {
    // Not the address of a file of this system.
    return [];
  }
}
