/** Input items that name another item by its id, and are replaced by it. */
import { WireCallError } from "@pagurus/gateway/server/faults";
import { isReadable, itemsOf, REFERENCE, type Item, type StoredItem } from "./items.ts";

/**
 * The input with each named item in the place of its reference; undefined if it names none. An item that the model cannot read, such as
 * the reasoning of another one, is left out. Throws `WireCallError` for an id that `find` does not know.
 */
export function referredItems(
  input: unknown,
  model: string,
  find: (id: string) => StoredItem | undefined,
): Item[] | undefined {
  const items = itemsOf(input);
  if (!items.some(({ type }) => type === REFERENCE)) return undefined;
  return items.flatMap((item, at): Item[] => {
    if (item["type"] !== REFERENCE) return [item];
    const id = String(item["id"]);
    const found = find(id);
    if (!found)
      throw new WireCallError(
        "bad_request",
        `Item with id "${id}" not found: input[${at}] names an item that no stored response of this token has. Send the item itself.`,
      );
    return isReadable(found, model) ? [found.item] : [];
  });
}
