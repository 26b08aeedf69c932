import type { ModelApi } from "@pagurus/contract/model";
import type { AnswerShape } from "./provider-types.ts";
import { quirksOf } from "./quirks/quirk-table.ts";

/** The part of a shape that a protocol cannot express, as words; undefined if it can express all of it. */
export function unsupportedShape(api: ModelApi, shape: AnswerShape): string | undefined {
  return quirksOf({ api, provider: "", id: "" }).unsupportedShape(shape);
}
