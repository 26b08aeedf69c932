import { inspect } from "node:util";
import { maskKeyShapes, maskSecrets, SECRET_MASK, secretForms } from "../data/secret-mask.ts";

/** Replacing a shorter one, as every `a` of a message, would hide the message, not the key. */
const SHORTEST_SECRET = 4;

/** A value that cannot be printed, serialized or logged by accident; only `reveal()` returns it. */
export class Secret<T> {
  readonly #value: T;

  constructor(value: T) {
    this.#value = value;
  }

  reveal(): T {
    return this.#value;
  }

  toString(): string {
    return SECRET_MASK;
  }

  toJSON(): string {
    return SECRET_MASK;
  }

  [inspect.custom](): string {
    return SECRET_MASK;
  }
}

/** A text without these secrets and without anything that looks like a key. */
export function redact(text: string, secrets: readonly string[]): string {
  const forms = secretForms(secrets.filter((secret) => secret.length >= SHORTEST_SECRET));
  return maskKeyShapes(maskSecrets(text, forms));
}
