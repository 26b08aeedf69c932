/**
 * Seals the summaries that compactions leave with clients of the model API: encrypted and authenticated with a key of the home, so that a
 * client can neither read nor change one. For example `pagurus:summary:2:1f0c9a77:<base64url>`, with the id of the key.
 */
import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from "node:crypto";
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { attempt } from "@pagurus/core/data/attempt";

const CIPHER = "aes-256-gcm";
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const START = "pagurus:summary:2";

export class SummarySeal {
  readonly #key: Buffer;
  readonly #nonceKey: Buffer;
  /** Mark and id of the key. */
  readonly #head: string;

  constructor(secret: Buffer) {
    const derived = (use: string): Buffer => createHmac("sha256", secret).update(use).digest();
    this.#key = derived("pagurus summary encryption");
    this.#nonceKey = derived("pagurus summary nonce");
    this.#head = `${START}:${createHash("sha256").update(secret).digest("hex").slice(0, 8)}`;
  }

  /** `beside`: text outside of the seal that must not change either. The same input gives the same seal. */
  seal(text: string, beside: string): string {
    const nonce = createHmac("sha256", this.#nonceKey)
      .update(JSON.stringify([text, beside]))
      .digest()
      .subarray(0, NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.#key, nonce).setAAD(this.#aad(beside));
    const sealed = Buffer.concat([nonce, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]);
    return `${this.#head}:${sealed.toString("base64url")}`;
  }

  /** Undefined for what was changed, or sealed with another key. */
  open(sealed: string, beside: string): string | undefined {
    if (!sealed.startsWith(`${this.#head}:`)) return undefined;
    const text = sealed.slice(this.#head.length + 1);
    const bytes = Buffer.from(text, "base64url");
    // One text for one seal: no other characters, no other length.
    if (bytes.toString("base64url") !== text || bytes.length < NONCE_BYTES + TAG_BYTES) return undefined;
    const nonce = bytes.subarray(0, NONCE_BYTES);
    const decipher = createDecipheriv(CIPHER, this.#key, nonce, { authTagLength: TAG_BYTES })
      .setAAD(this.#aad(beside))
      .setAuthTag(bytes.subarray(-TAG_BYTES));
    return attempt(() =>
      Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]).toString(
        "utf8",
      ),
    );
  }

  #aad(beside: string): Buffer {
    return Buffer.from(`${this.#head}\n${beside}`);
  }
}

/** The seal of a home. Its key is created once, for this user alone. Throws the system's errors. */
export function summarySealOf(home: string): SummarySeal {
  const file = join(home, "model-api.key");
  const known = attempt(() => readFileSync(file));
  if (known?.length === KEY_BYTES) return new SummarySeal(known);
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const made = `${file}.${randomBytes(6).toString("hex")}`;
  writeFileSync(made, randomBytes(KEY_BYTES), { mode: 0o600, flag: "wx", flush: true });
  try {
    // Whole or not at all: another process may create one at the same time.
    attempt(() => linkSync(made, file));
  } finally {
    rmSync(made);
  }
  return new SummarySeal(readFileSync(file));
}
