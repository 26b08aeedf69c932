/** Masks secrets in text: known values in each form in which they are written, and what has the shape of a key. */

export const SECRET_MASK = "[secret]";

/** Keys of OpenAI, Anthropic, OpenRouter, GitHub, Slack and Google, bearer tokens, and values after such a name. */
const KEY_SHAPES = [
  /\b(?:sk|pk|rk|ghp|gho|xox[abp])[-_][\w*-]{8,}/gi,
  /\bAIza[\w-]{20,}/gi,
  /(?<=\bBearer\s)[\w.~+/=-]{8,}/gi,
  /(?<=\b(?:api[_-]?key|token|secret|password)["']?\s*[:=]\s*["']?)[^\s"',;]{6,}/gi,
];

/** Replaces everything that looks like a key, token or password. */
export function maskKeyShapes(text: string): string {
  return KEY_SHAPES.reduce((clean, shape) => clean.replace(shape, SECRET_MASK), text);
}

/** The secrets as plain text, in JSON text and in a URL; the longest first, so that a secret inside another leaves no rest of it. */
export function secretForms(secrets: Iterable<string>): string[] {
  const forms = [...secrets].flatMap((secret) => {
    const json = JSON.stringify(secret).slice(1, -1);
    return [secret, json, json.replaceAll("/", String.raw`\/`), encodeURIComponent(secret.toWellFormed())];
  });
  return [...new Set(forms)].toSorted((a, b) => b.length - a.length || (a < b ? -1 : 1));
}

/** Replaces the forms that `secretForms` gave. Call it before the text is cut: half a secret is not found. */
export function maskSecrets(text: string, forms: readonly string[]): string {
  return forms.reduce((clean, form) => clean.replaceAll(form, SECRET_MASK), text);
}

/** The credential of an `authorization` header without its scheme: `Bearer …`. */
export function withoutAuthScheme(value: string): string {
  return value.trim().replace(/^(?:bearer|basic|token|negotiate)\s+/i, "");
}
