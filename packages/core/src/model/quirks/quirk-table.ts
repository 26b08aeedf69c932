/**
 * The quirks of every protocol, provider and model. The rest of `packages/core/src/model` asks for them here and compares no id of a protocol
 * or provider itself (checked by `npm run lint -- --only places`).
 */
import { PagurusError } from "@pagurus/contract/errors";
import { ANTHROPIC_QUIRKS } from "./anthropic-quirks.ts";
import { COMPATIBLE_QUIRKS } from "./compatible-quirks.ts";
import { GOOGLE_QUIRKS } from "./google-quirks.ts";
import { OPENAI_QUIRKS } from "./openai-quirks.ts";
import type { QuirkRow, Quirks, QuirkTarget } from "./quirk-kinds.ts";

/** What holds where no row says otherwise: the least that a server may be able to do. */
export const PLAIN: Quirks = {
  async loadProtocol() {
    throw new PagurusError("internal", "The offline model is not called over a network.");
  },
  members: () => ({}),
  betas: () => [],
  systemRole: () => "system",
  versionPath: "/v1",
  versionsAnyPath: false,
  developerMessages: false,
  systemInUser: false,
  imagesInResults: false,
  imagesAfterResults: false,
  failedResults: false,
  cacheMarks: false,
  joinsUserMessages: false,
  plainSchemas: false,
  unsupportedShape: () => undefined,
  answersByTool: () => false,
  refusesForcedTools: () => false,
  signsCalls: false,
  refusesUnsignedLoops: false,
  bindsThinking: false,
  refusalsFail: false,
};

/** A later row overrides the rows before it: from protocols to providers and models. */
export const QUIRK_ROWS: readonly QuirkRow[] = [
  ...COMPATIBLE_QUIRKS,
  ...OPENAI_QUIRKS,
  ...ANTHROPIC_QUIRKS,
  ...GOOGLE_QUIRKS,
];

function fitsTarget({ api, provider, model }: QuirkRow, target: QuirkTarget): boolean {
  return (
    (api === undefined || api === target.api) &&
    (provider === undefined || provider === target.provider) &&
    (model === undefined || model.test(target.id))
  );
}

export function quirksOf(target: QuirkTarget): Quirks {
  return Object.assign(
    { ...PLAIN },
    ...QUIRK_ROWS.filter((row) => fitsTarget(row, target)).map(({ quirks }) => quirks),
  );
}
