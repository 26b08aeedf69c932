import { inspect } from "node:util";

/** What stands in the place of a secret in every text that leaves this room. */
const MASK = "[secret]";

/** A value that cannot be printed, serialized or logged by accident; only `reveal()` gives it. */
export class Secret<T> {
  readonly #value: T;

  constructor(value: T) {
    this.#value = value;
  }

  reveal(): T {
    return this.#value;
  }

  toString(): string {
    return MASK;
  }

  toJSON(): string {
    return MASK;
  }

  [inspect.custom](): string {
    return MASK;
  }
}

/** Shapes of keys that a provider may echo, also when they are not ours: OpenAI, Anthropic, OpenRouter, Google, bearer. */
const KEY_SHAPES = /\b(?:sk|pk|rk)-[\w*-]{8,}|\bAIza[\w-]{20,}|(?<=\bBearer\s)[\w.~+/=-]{8,}/gi;

/**
 * A text without the given secrets and without anything that looks like a key. Secrets shorter than 4 characters
 * are left alone: replacing every `a` of a message would hide the message, not the key.
 */
export function redact(text: string, secrets: readonly string[]): string {
  let clean = text;
  const known = secrets.filter((secret) => secret.length >= 4).sort((a, b) => b.length - a.length);
  for (const secret of known) clean = clean.replaceAll(secret, MASK);
  return clean.replace(KEY_SHAPES, MASK);
}
