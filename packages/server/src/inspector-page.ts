/** The built page of the inspector, below `/inspector/`: files of the package, with a policy that allows nothing from elsewhere. */
import { existsSync, readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { extname, join } from "node:path";
import { packageRoot } from "@pagurus/core/platform/package-root";
import type { OpenApi } from "./http-server.ts";
import { refuse } from "./refusal.ts";

const INSPECTOR_PATH = "/inspector/";

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".webmanifest": "application/manifest+json",
};

/** No inline script or style, no frame, no form to elsewhere, no connection but to this server. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "manifest-src 'self'",
  "worker-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  // The one policy of the page, for the addresses of its workers.
  "trusted-types pagurus-worker",
].join("; ");

function isPagePath(path: string): boolean {
  return path === "/inspector" || path.startsWith(INSPECTOR_PATH);
}

/** For `HttpServerOptions.open`: the files are those of the package, and hold no word of a session. */
export const inspectorPage: OpenApi = { handles: isPagePath, serve: servePage };

async function servePage(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = (request.url ?? "").split("?", 1)[0] ?? "";
  // Relative: a reverse proxy may have the page below a path of its own.
  if (path === "/inspector") return void response.writeHead(303, { location: "inspector/" }).end();
  const name = path.slice(INSPECTOR_PATH.length);
  const isAsset = /^assets\/[\w-]+(?:\.[\w-]+)*\.(?:js|css)$/.test(name);
  const isKnown = name === "" || isAsset || /^(?:icon[\w-]*\.(?:svg|png)|manifest\.webmanifest)$/.test(name);
  const bytes =
    isKnown && (request.method === "GET" || request.method === "HEAD")
      ? read(name === "" ? "index.html" : name)
      : undefined;
  if (!bytes) {
    const message = isKnown
      ? "The inspector's page is not built; run npm run build in the checkout."
      : "The inspector has no such file.";
    return refuse(response, path, { status: 404, code: "usage_invalid", message });
  }
  response.writeHead(200, {
    "content-type": TYPES[name === "" ? ".html" : extname(name)] ?? "application/octet-stream",
    "content-length": bytes.length,
    "content-security-policy": POLICY,
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    // Names of assets change with their contents.
    "cache-control": isAsset ? "private, max-age=31536000, immutable" : "no-store",
  });
  response.end(request.method === "HEAD" ? undefined : bytes);
}

/** Undefined where the page is not built. At once: a server at work makes each step of a reading wait, and the page with it. */
function read(name: string): Buffer | undefined {
  const file = join(packageRoot(), "dist/inspector", name);
  return existsSync(file) ? readFileSync(file) : undefined;
}
