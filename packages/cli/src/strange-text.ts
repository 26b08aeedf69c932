import { escapedUnseen } from "@pagurus/core/data/plain-text";
import { oneLine } from "@pagurus/host/command/layout";

/** Text by an unknown author, such as a plugin's or a file's, made safe for a terminal and short. */
export function strangeText(text: string, limit = 200): string {
  return escapedUnseen(oneLine(text, limit));
}
