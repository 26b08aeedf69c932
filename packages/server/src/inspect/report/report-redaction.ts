/** What a report leaves out: secrets always, and the kinds of words that the user picks. */
import { REDACTED_KINDS } from "@pagurus/api/inspect-answers";
import type { PartSource, RedactedKind } from "@pagurus/api/types";
import { PagurusError } from "@pagurus/contract/errors";
import { maskKeyShapes, maskSecrets, secretForms } from "@pagurus/core/data/secret-mask";

/**
 * `system`: system prompt, instruction files, memory, additional context; `tools`: descriptions of tools; `user`: what the user wrote;
 * `assistant`: the model's words and tool calls; `results`: of tools; `summaries`: of older messages, and passages found in them.
 */
/** Of a list with commas. Throws `usage_invalid`. */
export function redactedKinds(list: string): RedactedKind[] {
  return list
    .split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "")
    .map((word) => {
      const kind = REDACTED_KINDS.find((known) => known === word);
      if (kind) return kind;
      throw new PagurusError(
        "usage_invalid",
        `There is nothing to redact by the name ${JSON.stringify(word)}; the names are ${REDACTED_KINDS.join(", ")}.`,
      );
    });
}

const NAMES: Readonly<Record<RedactedKind, string>> = {
  system: "system prompt",
  tools: "description of tools",
  user: "the user's words",
  assistant: "the model's words",
  results: "result of a tool",
  summaries: "summary",
};

const KIND_OF_SOURCE: Partial<Record<PartSource, RedactedKind>> = {
  system: "system",
  addition: "system",
  instructions: "system",
  memory: "system",
  fragment: "system",
  tools: "tools",
  head: "summaries",
  recall: "summaries",
};

const KIND_OF_ROLE: Readonly<Record<string, RedactedKind>> = {
  user: "user",
  assistant: "assistant",
  toolResult: "results",
};

function kindOfRole(role: string | undefined): RedactedKind | undefined {
  return role === undefined ? undefined : KIND_OF_ROLE[role];
}

export class ReportRedaction {
  readonly #kinds: ReadonlySet<RedactedKind>;
  readonly #forms: readonly string[];

  /** `secrets`: known values, besides all that look like a key. */
  constructor(kinds: Iterable<RedactedKind>, secrets: readonly string[]) {
    this.#kinds = new Set(kinds);
    this.#forms = secretForms(secrets);
  }

  get kinds(): readonly RedactedKind[] {
    return REDACTED_KINDS.filter((kind) => this.#kinds.has(kind));
  }

  /** Words of one of these kinds without secrets, or what is there in their place. Pass them whole: half a secret is not found. */
  words(kinds: readonly RedactedKind[], text: string): string {
    const hidden = kinds.find((kind) => this.#kinds.has(kind));
    if (hidden !== undefined)
      return text === ""
        ? ""
        : `[redacted: ${NAMES[hidden]}, ${Buffer.byteLength(text).toLocaleString("en-US")} bytes]`;
    return this.plain(text);
  }

  /** A text of any kind without secrets. */
  plain(text: string): string {
    return maskKeyShapes(maskSecrets(text, this.#forms));
  }
}

/**
 * The kinds that a part of a body may be of: by its source, else by the roles of its entries. A part that neither names may be any words
 * of the conversation.
 */
export function kindsOfPart(
  source: PartSource,
  roles: readonly (string | undefined)[],
): readonly RedactedKind[] {
  const own = KIND_OF_SOURCE[source];
  if (own !== undefined) return [own];
  if (source === "framing" || source === "settings") return [];
  const kinds = roles.map(kindOfRole).filter((kind) => kind !== undefined);
  if (source !== "unread" && kinds.length > 0 && kinds.length === roles.length) return kinds;
  return source === "unread" ? REDACTED_KINDS : ["user", "assistant", "results", "system"];
}
