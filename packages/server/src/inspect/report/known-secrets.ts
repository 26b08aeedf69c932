/** Values that the user's environment and configuration keep secret, so that they can be masked in what the user passes on. */
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { attempt } from "@pagurus/core/data/attempt";
import { asRecord, asString } from "@pagurus/core/data/record-fields";
import { configFile } from "@pagurus/core/config/config-paths";
import { parseJson5 } from "@pagurus/core/config/json5";
import { readConfigText } from "@pagurus/core/config/load-config";

const SECRET_NAME = /key|token|secret|password|passwd|credential|authorization|cookie/i;
/** Members whose values are all treated as secret: any may hold a key. */
const SECRET_MEMBERS: ReadonlySet<string> = new Set(["headers", "env"]);
/** A shorter value may be a word of the conversation. */
const SHORTEST = 8;

/** What cannot be read is left out. */
export function knownSecrets(home: string, env: Readonly<Record<string, string | undefined>>): string[] {
  const found = new Set<string>();
  const add = (value: string): void => {
    for (const part of [value.trim(), ...value.trim().split(/\s+/)])
      if (part.length >= SHORTEST) found.add(part);
  };
  for (const [name, value = ""] of Object.entries(env)) if (SECRET_NAME.test(name)) add(value);
  const file = configFile(home);
  const text = attempt(() => readConfigText(file));
  const config: unknown = text === undefined ? undefined : attempt(() => parseJson5(text, file));
  for (const value of secretsIn(config, false)) add(value);
  for (const path of keyFiles(config)) {
    const place = path.startsWith("~/") ? join(env["HOME"] ?? homedir(), path.slice(2)) : path;
    add(attempt(() => readFileSync(place, "utf8")) ?? "");
  }
  return [...found];
}

/** Texts below members whose names say that they are secret. */
function* secretsIn(value: unknown, isSecret: boolean): Generator<string> {
  if (typeof value === "string") {
    // A reference to the environment is no secret itself.
    if (isSecret && !/^\$\{\w+\}$/.test(value)) yield value;
  } else if (Array.isArray(value)) for (const each of value) yield* secretsIn(each, isSecret);
  else
    for (const [name, each] of Object.entries(asRecord(value) ?? {}))
      yield* secretsIn(each, isSecret || SECRET_NAME.test(name) || SECRET_MEMBERS.has(name));
}

/** Paths of `apiKey: { file }`. */
function* keyFiles(value: unknown): Generator<string> {
  if (Array.isArray(value)) for (const each of value) yield* keyFiles(each);
  for (const [name, each] of Object.entries(asRecord(value) ?? {})) {
    const file = name === "apiKey" ? asString(asRecord(each)?.["file"]) : undefined;
    if (file === undefined) yield* keyFiles(each);
    else yield file;
  }
}
