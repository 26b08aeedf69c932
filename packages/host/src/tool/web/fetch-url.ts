/** Checks which URLs may be fetched, and how far a redirect may lead. */
import { hostKind } from "./address.ts";
import { ToolError } from "../tool-error.ts";

/** Throws `ToolError` for a URL that no permission can allow. */
export function checkUrl(text: string, base?: URL): { url: URL; local: boolean } {
  const url = URL.parse(text, base?.href);
  if (!url) throw new ToolError(`"${text}" is not an absolute URL.`);
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new ToolError(`Only http and https can be fetched, not "${url.protocol}".`);
  }
  if (url.username !== "" || url.password !== "")
    throw new ToolError("A URL with a user name or password is refused.");
  const kind = hostKind(url.hostname);
  if (kind === "forbidden")
    throw new ToolError(`"${url.hostname}" is a link-local or metadata address; refused.`);
  url.hash = "";
  return { url, local: kind === "local" };
}

/** Whether the permission for the first address covers the redirect. */
export function staysOnHost(from: URL, to: URL): boolean {
  const name = (url: URL): string => url.hostname.replace(/^www\./, "");
  if (name(from) !== name(to)) return false;
  if (from.protocol === to.protocol) return from.port === to.port;
  return to.protocol === "https:" && from.port === "" && to.port === "";
}
