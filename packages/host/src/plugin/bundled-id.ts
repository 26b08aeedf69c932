import { isBundledId } from "@pagurus/core/config/bundled";
import { PagurusError } from "@pagurus/contract/errors";

/**
 * Throws `plugin_duplicate_id` for a plugin with an id that the host itself uses. Its configuration entry belongs to the
 * bundled part, so disabling that is no remedy.
 */
export function assertNotBundled(id: string, path: string): void {
  if (!isBundledId(id)) return;
  throw new PagurusError(
    "plugin_duplicate_id",
    `The plugin in ${path} has the id ${id}, which belongs to Pagurus itself, so it cannot be used; give it another id in its manifest, or remove it with "pagurus plugins uninstall ${path}".`,
    { details: { plugin: id, bundled: true } },
  );
}
