/** Ways to log in that an agent offers, and the one that needs nothing but a key of its environment. */
import { type Fields, listOf, recordOf, stringOf } from "@pagurus/core/data/record-fields";
import type { Env } from "./known-agent.ts";

export interface AuthMethod {
  id: string;
  name: string;
  /** The agent's program has to be run in a terminal for it. */
  isTerminal: boolean;
  /** Variables that it takes the login from; empty when it names none. */
  variables: readonly string[];
}

/** Agents without a form for it name the variable in the description. */
const KEY_VARIABLE = /\b[A-Z][A-Z0-9_]*_(?:KEY|TOKEN)\b/g;

export function authMethodsOf(value: unknown): AuthMethod[] {
  return listOf(value)
    .map(recordOf)
    .map((method) => ({
      id: stringOf(method["id"]),
      name: stringOf(method["name"]),
      isTerminal: method["type"] === "terminal",
      variables: variablesOf(method),
    }));
}

function variablesOf({ vars, varName, description }: Fields): string[] {
  const required = listOf(vars)
    .map(recordOf)
    .filter(({ optional }) => optional !== true)
    .map(({ name }) => stringOf(name));
  const named = [...required, stringOf(varName)].filter((name) => name !== "");
  return named.length > 0 ? named : (stringOf(description).match(KEY_VARIABLE) ?? []);
}

/** A method that needs nothing but what the environment has. `keys`: the variable of a method, by its id. */
export function methodFor(
  methods: readonly AuthMethod[],
  env: Env,
  keys: Readonly<Record<string, string>> = {},
): AuthMethod | undefined {
  return methods.find(({ id, isTerminal, variables }) => {
    const key = Object.hasOwn(keys, id) ? keys[id] : undefined;
    const needed = key === undefined ? variables : [key];
    return !isTerminal && needed.length > 0 && needed.every((name) => (env[name] ?? "") !== "");
  });
}
