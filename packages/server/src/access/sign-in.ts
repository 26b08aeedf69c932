/** `/sign-in` exchanges the code of `pagurus open` for a browser's login; `/sign-out` ends the login that it is asked with. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { parseJson, recordOf, stringOf } from "@pagurus/core/data/record-fields";
import type { MountedApi, OpenApi } from "../http-server.ts";
import { refuse } from "../refusal.ts";
import { isLoginId, type BrowserLogins } from "./browser-logins.ts";

const SIGN_IN = "/sign-in";
const SIGN_OUT = "/sign-out";
/** Longest body, bytes. */
const MOST_BYTES = 1_024;

/** For `HttpServerOptions.open`: the code is the proof. `POST {"code": "…"}` answers `{"token": "…", "expiresAt": …}`. */
export function signInApi(logins: BrowserLogins): OpenApi {
  return {
    handles: (path) => path === SIGN_IN,
    async serve(request, response) {
      if (request.method !== "POST") return refuse(response, SIGN_IN, notPosted(SIGN_IN));
      const asked = recordOf(parseJson(await smallBody(request)));
      const login = logins.signIn(stringOf(asked["code"]));
      if (login) return sendJson(response, { token: login.secret, expiresAt: login.expiresAt });
      const message = "The code was used already or is too old; run pagurus open or pagurus inspect again.";
      return refuse(response, SIGN_IN, { status: 401, code: "token_invalid", message });
    },
  };
}

/** For `HttpServerOptions.mounted`. */
export function signOutApi(logins: BrowserLogins): MountedApi {
  return {
    handles: (path) => path === SIGN_OUT,
    async serve(request, response, { tokenId }) {
      if (request.method !== "POST") return refuse(response, SIGN_OUT, notPosted(SIGN_OUT));
      if (isLoginId(tokenId)) {
        logins.end(tokenId);
        return sendJson(response, {});
      }
      const message = "Only a browser signs out; pagurus token revoke ends a token.";
      return refuse(response, SIGN_OUT, { status: 403, code: "token_invalid", message });
    },
  };
}

function notPosted(path: string) {
  return { status: 404, code: "usage_invalid", message: `${path} takes POST alone.` } as const;
}

function sendJson(response: ServerResponse, value: object): void {
  const body = JSON.stringify(value);
  response.writeHead(200, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
    "cache-control": "no-store",
  });
  response.end(body);
}

/** Empty for one that is longer, or cut off. */
async function smallBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > MOST_BYTES) return "";
      chunks.push(chunk);
    }
  } catch {
    return "";
  }
  return Buffer.concat(chunks).toString("utf8");
}
