/**
 * Login by SCRAM (RFC 5802, RFC 7677) with Node's own key derivation: that of the library takes a second and more for the 10,000
 * rounds of a usual server.
 */
import { createHash, createHmac, pbkdf2, randomBytes, timingSafeEqual } from "node:crypto";
import { promisify } from "node:util";

const derive = promisify(pbkdf2);
/** A server that asks for more rounds only wastes time. */
const MOST_ROUNDS = 10_000_000;

export interface ScramCredentials {
  username: string;
  password: string;
}

/** The form that the SASL library calls: `response` for each step, `challenge` with the server's words. */
export interface SaslMechanism {
  readonly name: string;
  readonly clientFirst: boolean;
  response(credentials: ScramCredentials): Promise<string>;
  challenge(text: string): void;
  /** The server's proof that it knows the password. Throws where it is wrong. */
  final(text: string): void;
}

type Hash = "sha1" | "sha256";

function hmac(hash: Hash, key: Buffer, text: string): Buffer {
  return createHmac(hash, key).update(text).digest();
}

function saslName(name: string): string {
  return name.normalize("NFKC").replaceAll("=", "=3D").replaceAll(",", "=2C");
}

/** One login; `nonce` is random where absent. */
export function scram(hash: Hash, nonce = randomBytes(18).toString("base64")): SaslMechanism {
  let first = "";
  let server = "";
  let serverProof: Buffer | undefined;

  async function proof({ password }: ScramCredentials): Promise<string> {
    const fields = new Map(server.split(",").map((part) => [part.slice(0, 1), part.slice(2)]));
    const [salt = "", serverNonce = "", rounds] = [fields.get("s"), fields.get("r"), Number(fields.get("i"))];
    if (!serverNonce.startsWith(nonce) || salt === "" || !(rounds > 0 && rounds <= MOST_ROUNDS))
      throw new Error("the server's challenge is not valid");
    const size = createHash(hash).digest().length;
    const salted = await derive(password.normalize("NFKC"), Buffer.from(salt, "base64"), rounds, size, hash);
    const last = `c=${Buffer.from("n,,").toString("base64")},r=${serverNonce}`;
    const all = `${first},${server},${last}`;
    const clientKey = hmac(hash, salted, "Client Key");
    const signature = hmac(hash, createHash(hash).update(clientKey).digest(), all);
    serverProof = hmac(hash, hmac(hash, salted, "Server Key"), all);
    const bytes = clientKey.map((byte, at) => byte ^ (signature[at] ?? 0));
    return `${last},p=${Buffer.from(bytes).toString("base64")}`;
  }

  return {
    name: hash === "sha1" ? "SCRAM-SHA-1" : "SCRAM-SHA-256",
    clientFirst: true,
    response: async (credentials) => {
      if (server !== "") return proof(credentials);
      first = `n=${saslName(credentials.username)},r=${nonce}`;
      return `n,,${first}`;
    },
    challenge: (text) => {
      server = text;
    },
    final: (text) => {
      const theirs = Buffer.from(/^v=([^,]*)/.exec(text)?.[1] ?? "", "base64");
      if (serverProof?.length !== theirs.length || !timingSafeEqual(serverProof, theirs))
        throw new Error("the server does not know the password");
    },
  };
}
