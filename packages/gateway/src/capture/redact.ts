/** Keeps secrets out of captures: header values by header name, and the same values wherever else they occur. */
import { secretForms, withoutAuthScheme } from "@pagurus/core/data/secret-mask";

export const REDACTED = "[redacted]";
const STAR = 0x2a;
/** A shorter value may be a word of the conversation; it is masked only in its own header. */
const SHORTEST = 8;
/** Cookies contain settings too, which are ordinary words more often than keys are. */
const SHORTEST_IN_COOKIE = 16;

const SECRET_HEADER = /^(?:proxy-)?authorization$|cookie|token|secret|key|password|credential/i;
/** A provider's rate limit headers: counts and times of tokens, as in `x-ratelimit-remaining-tokens`. */
const LIMIT_HEADER = /ratelimit/i;
const SECRET_PARAMETER = /token|secret|key|password|credential|^(?:auth|sig|signature|code)$/i;

function isSecretHeader(name: string): boolean {
  return SECRET_HEADER.test(name) && !LIMIT_HEADER.test(name);
}

function pairs(rawHeaders: readonly string[]): [name: string, value: string][] {
  const found: [string, string][] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    found.push([rawHeaders[at] ?? "", rawHeaders[at + 1] ?? ""]);
  }
  return found;
}

function ofCookie(value: string): string[] {
  return value
    .split(";")
    .map((part) => part.slice(part.indexOf("=") + 1).trim())
    .filter((part) => part.length >= SHORTEST_IN_COOKIE);
}

/** Secrets in a header value, which may begin with a scheme: `Bearer …`. */
function ofHeader(name: string, value: string): string[] {
  if (/cookie/i.test(name)) return ofCookie(value);
  const bare = withoutAuthScheme(value);
  return bare.length >= SHORTEST ? [bare] : [];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // Not an encoded value; used as it is.
    return text;
  }
}

/** The secret values of a request's query string. */
function ofQuery(path: string): string[] {
  const query = path.includes("?") ? path.slice(path.indexOf("?") + 1) : "";
  return query
    .split("&")
    .filter((part) => SECRET_PARAMETER.test(part.split("=", 1)[0] ?? ""))
    .map((part) => part.slice(part.indexOf("=") + 1))
    .filter((value) => value.length >= SHORTEST)
    .flatMap((value) => [value, decoded(value)]);
}

/** The secret values of a message's headers and path. */
export function messageSecrets(rawHeaders: readonly string[], path = ""): string[] {
  const ofHeaders = pairs(rawHeaders)
    .filter(([name]) => isSecretHeader(name))
    .flatMap(([name, value]) => ofHeader(name, value));
  return [...new Set([...ofHeaders, ...ofQuery(path)])];
}

function allForms(secrets: readonly string[]): string[] {
  return secretForms(secrets.filter((secret) => secret.length >= SHORTEST));
}

/** Masks secrets with stars in bytes that come in chunks; the end of a chunk is held back while it may be the start of a secret. */
export class Redactor {
  readonly #needles: readonly Buffer[];
  /** The bytes held back, as received and as they will be written. */
  #came: Buffer = Buffer.alloc(0);
  #held: Buffer = Buffer.alloc(0);
  /** Number of masked places. */
  count = 0;

  constructor(secrets: readonly string[]) {
    this.#needles = allForms(secrets).map((form) => Buffer.from(form, "utf8"));
  }

  take(chunk: Buffer): Buffer {
    if (this.#needles.length === 0) return chunk;
    // A large body comes in one chunk, mostly without a secret; it is not copied then.
    const came = this.#came.length === 0 ? chunk : Buffer.concat([this.#came, chunk]);
    const found = this.#places(came);
    const isPlain = this.#held.length === 0 && found.length === 0;
    const out = isPlain ? chunk : this.#covered(Buffer.concat([this.#held, chunk]), found);
    const keep = this.#beginning(came);
    this.#came = came.subarray(came.length - keep);
    this.#held = out.subarray(out.length - keep);
    return out.subarray(0, out.length - keep);
  }

  end(): Buffer {
    const rest = this.#held;
    this.#came = Buffer.alloc(0);
    this.#held = Buffer.alloc(0);
    return rest;
  }

  #places(bytes: Buffer): [start: number, end: number][] {
    const found: [number, number][] = [];
    for (const needle of this.#needles) {
      for (let at = bytes.indexOf(needle); at >= 0; at = bytes.indexOf(needle, at + 1)) {
        // Matches inside the held-back bytes were masked and counted when those came.
        if (at + needle.length > this.#came.length) found.push([at, at + needle.length]);
      }
    }
    return found;
  }

  #covered(bytes: Buffer, found: readonly [number, number][]): Buffer {
    for (const [start, end] of found) bytes.fill(STAR, start, end);
    this.count += found.length;
    return bytes;
  }

  /** Number of bytes at the end that may start a secret. */
  #beginning(bytes: Buffer): number {
    let most = 0;
    for (const needle of this.#needles) {
      for (let size = Math.min(needle.length - 1, bytes.length); size > most; size--) {
        if (needle.subarray(0, size).equals(bytes.subarray(bytes.length - size))) most = size;
      }
    }
    return most;
  }
}

/** Masks the secrets of complete bytes. */
export function redactBytes(bytes: Buffer, secrets: readonly string[]): { bytes: Buffer; count: number } {
  const redactor = new Redactor(secrets);
  const first = redactor.take(bytes);
  const rest = redactor.end();
  return { bytes: rest.length === 0 ? first : Buffer.concat([first, rest]), count: redactor.count };
}

export function redactText(text: string, secrets: readonly string[]): string {
  return covered(text, allForms(secrets));
}

function covered(text: string, forms: readonly string[]): string {
  return forms.reduce((clean, form) => clean.replaceAll(form, "*".repeat(form.length)), text);
}

/** The headers in order; a secret header keeps only its name. */
export function redactHeaders(rawHeaders: readonly string[], secrets: readonly string[]): [string, string][] {
  const forms = allForms(secrets);
  return pairs(rawHeaders).map(([name, value]) => [
    name,
    isSecretHeader(name) ? REDACTED : covered(value, forms),
  ]);
}

/** The path with the secret values of its query masked, including short ones. */
export function redactPath(path: string, secrets: readonly string[]): string {
  const mark = path.indexOf("?");
  if (mark < 0) return redactText(path, secrets);
  const query = path
    .slice(mark + 1)
    .split("&")
    .map((part) => {
      const equals = part.indexOf("=");
      if (equals < 0 || !SECRET_PARAMETER.test(part.slice(0, equals))) return part;
      return part.slice(0, equals + 1) + "*".repeat(part.length - equals - 1);
    })
    .join("&");
  return redactText(`${path.slice(0, mark)}?${query}`, secrets);
}
