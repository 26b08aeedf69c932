/** Keeps secrets out of captures: values of headers by name, and the same values wherever else they occur. */

export const REDACTED = "[redacted]";
const STAR = 0x2a;
/** A shorter value may be a word of the conversation; it is hidden where it stands, and nowhere else. */
const SHORTEST = 8;
/** A cookie has settings among its values, which are words more often than a key is. */
const SHORTEST_IN_COOKIE = 16;

const SECRET_HEADER = /^(?:proxy-)?authorization$|cookie|token|secret|key|password|credential/i;
/** What a provider tells of its limits: counts and times of tokens, as in `x-ratelimit-remaining-tokens`. */
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

/** A value may begin with its scheme: `Bearer …`. */
function ofHeader(name: string, value: string): string[] {
  if (/cookie/i.test(name)) return ofCookie(value);
  const bare = value.trim().replace(/^(?:bearer|basic|token|negotiate)\s+/i, "");
  return bare.length >= SHORTEST ? [bare] : [];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // No such encoding: it stands for itself.
    return text;
  }
}

/** The secret values of a request's query, `name=value` by `name=value`. */
function ofQuery(path: string): string[] {
  const query = path.includes("?") ? path.slice(path.indexOf("?") + 1) : "";
  return query
    .split("&")
    .filter((part) => SECRET_PARAMETER.test(part.split("=", 1)[0] ?? ""))
    .map((part) => part.slice(part.indexOf("=") + 1))
    .filter((value) => value.length >= SHORTEST)
    .flatMap((value) => [value, decoded(value)]);
}

/** The secret values of a message's head. */
export function secretsOf(rawHeaders: readonly string[], path = ""): string[] {
  const ofHeaders = pairs(rawHeaders)
    .filter(([name]) => isSecretHeader(name))
    .flatMap(([name, value]) => ofHeader(name, value));
  return [...new Set([...ofHeaders, ...ofQuery(path)])];
}

/** As a value stands in plain text, in a JSON text and in an address. */
function formsOf(secret: string): string[] {
  const json = JSON.stringify(secret).slice(1, -1);
  const forms = [
    secret,
    json,
    json.replaceAll("/", String.raw`\/`),
    encodeURIComponent(secret.toWellFormed()),
  ];
  return [...new Set(forms)];
}

/** Longest first, so that one which is part of another leaves nothing of it. */
function allForms(secrets: readonly string[]): string[] {
  const long = secrets.filter((secret) => secret.length >= SHORTEST);
  return [...new Set(long.flatMap(formsOf))].toSorted((a, b) => b.length - a.length);
}

/** Puts stars over secrets in bytes that come in pieces; a piece's end is held back while it may begin a secret. */
export class Redactor {
  readonly #needles: readonly Buffer[];
  /** The bytes held back, as they came and as they will be written. */
  #came: Buffer = Buffer.alloc(0);
  #held: Buffer = Buffer.alloc(0);
  /** Places that were covered. */
  count = 0;

  constructor(secrets: readonly string[]) {
    this.#needles = allForms(secrets).map((form) => Buffer.from(form, "utf8"));
  }

  take(chunk: Buffer): Buffer {
    if (this.#needles.length === 0) return chunk;
    // A large body comes at once, and mostly without a secret: it is not copied then.
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
        // What ends among the bytes held back was covered and counted when they came.
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

  /** How many bytes of the end begin a secret. */
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

/** Whole bytes at once. */
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

/** The headers in their order; of a secret one the name alone. */
export function redactHeaders(rawHeaders: readonly string[], secrets: readonly string[]): [string, string][] {
  const forms = allForms(secrets);
  return pairs(rawHeaders).map(([name, value]) => [
    name,
    isSecretHeader(name) ? REDACTED : covered(value, forms),
  ]);
}

/** The path with stars over the secret values of its query, also over short ones. */
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
