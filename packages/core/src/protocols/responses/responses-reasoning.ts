/** The signature of a thinking part of the Responses API: its reasoning item as JSON. One item may be several parts. */
import type { ThinkingPart } from "@pagurus/contract/message";
import { parseRecord } from "../../data/record-fields.ts";

export interface ReasoningItem {
  id: string;
  /** Valid once the item is complete. */
  encrypted?: string;
}

export function reasoningSignature({ id, encrypted }: ReasoningItem): string {
  return JSON.stringify(encrypted ? { id, encrypted } : { id });
}

/** Undefined for a part of another protocol. */
export function reasoningItem({ signature }: ThinkingPart): ReasoningItem | undefined {
  const { id, encrypted } = parseRecord(signature ?? "") ?? {};
  if (typeof id !== "string") return undefined;
  return typeof encrypted === "string" && encrypted !== "" ? { id, encrypted } : { id };
}
