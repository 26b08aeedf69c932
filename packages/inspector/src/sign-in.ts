/**
 * The login of this page. An address such as `#/sign-in/<code>/s/main/key` has a code for one use, which is exchanged for a secret. The
 * secret is in the storage of this tab and origin, so no server of another port gets it.
 */
import { signal } from "@preact/signals";
import { serverAddress } from "./server-place.ts";

/** Of the path too: a reverse proxy may have several servers at one origin. */
const KEY = `pagurus-login ${new URL(serverAddress).pathname}`.replace(/ \/$/, "");
const PLACE = /^#\/sign-in\/([\w-]+)(\/.*)?$/;

/** The secret of each request; absent when the page is signed out. */
export const login = signal<string | undefined>(sessionStorage.getItem(KEY) ?? undefined);

async function signIn(code: string): Promise<void> {
  const answer = await fetch(`${serverAddress}sign-in`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ code }),
  });
  if (!answer.ok) return;
  const { token } = (await answer.json()) as { token: string };
  sessionStorage.setItem(KEY, token);
  login.value = token;
}

/** Forgets the login; the server has ended it. */
export function forgetLogin(): void {
  sessionStorage.removeItem(KEY);
  login.value = undefined;
}

/** Ends the login at the server, and with it everything that the page has open there. */
export async function signOut(): Promise<void> {
  const secret = login.value;
  forgetLogin();
  await fetch(`${serverAddress}sign-out`, { method: "POST", headers: { authorization: `Bearer ${secret}` } });
}

// An address that is pasted into a tab which shows the page already.
addEventListener("hashchange", () => {
  if (PLACE.test(location.hash)) location.reload();
});

const [, code, place = "/"] = PLACE.exec(location.hash) ?? [];
if (code !== undefined) {
  // Before anything else: the code is in no entry of the history.
  history.replaceState(null, "", `#${place}`);
  // A server that is away is reported like a code that is too old.
  await signIn(code).catch(() => undefined);
}
