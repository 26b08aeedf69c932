/** The server that the page came from, called with the login of the page. */
import { createClient } from "@pagurus/client/index";
import { serverAddress } from "./server-place.ts";
import { forgetLogin, login } from "./sign-in.ts";

export const server = createClient({
  url: serverAddress,
  retryMs: 5_000,
  token: () => login.value,
  fetch: async (input, init) => {
    const secret = login.value;
    const answer = await fetch(input, init);
    // It was ended elsewhere, or has expired.
    if (answer.status === 401 && login.value === secret) forgetLogin();
    return answer;
  },
});
