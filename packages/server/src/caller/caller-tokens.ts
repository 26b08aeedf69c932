/** Tokens as one caller may manage them: the owner and a full token of scope admin all of them, others those that they created. */
import type { Token } from "@pagurus/api/types";
import { checkNarrower, checkScope, isUnlimited } from "@pagurus/core/authority/authority";
import type { Caller } from "../access/caller.ts";
import { noToken, tokenAuthority, withChildren, type NewToken, type Tokens } from "../access/tokens.ts";

export type CallerTokens = ReturnType<typeof callerTokens>;

function isFull({ scope, folders, mode, mayStartPrograms, mayRemember, ...limits }: Caller): boolean {
  const isWide = scope === "admin" && folders === "any" && (mode === "any" || mode === "auto");
  return isWide && mayStartPrograms && mayRemember && isUnlimited(limits);
}

export function callerTokens(caller: Caller, tokens: Tokens) {
  const visible = async (): Promise<Token[]> => {
    checkScope(caller, "admin", "manage tokens");
    const all = await tokens.list();
    if (isFull(caller)) return all;
    const below = withChildren(all, [caller.tokenId]);
    return all.filter(({ id }) => id !== caller.tokenId && below.has(id));
  };
  return {
    list: visible,
    /** A limit that the request leaves out is the caller's own; its sessions are named. Throws `token_invalid` for more than the caller has. */
    async create(asked: NewToken): Promise<{ token: Token; secret: string }> {
      checkScope(caller, "admin", "create a token");
      const { tokenId, agents, until } = caller;
      const expiresAt = asked.expiresAt ?? until;
      const child = {
        ...inherited(caller),
        ...withoutUndefined(asked),
        sessions: asked.sessions ?? "*",
      };
      checkNarrower(caller, tokenAuthority({ agents, ...child }, "", expiresAt));
      const parent = caller.door === "token" ? { parent: tokenId } : {};
      return tokens.create({ agents, ...child, ...parent, expiresAt });
    },
    /** Throws `token_invalid` where there is none that the caller may manage. */
    async revoke(idOrName: string): Promise<Token[]> {
      const named = (await visible()).filter(({ id, name }) => id === idOrName || name === idOrName);
      if (named.length === 0) throw noToken(idOrName);
      const revoked = new Map<string, Token>();
      for (const { id } of named) for (const each of await tokens.revoke(id)) revoked.set(each.id, each);
      return [...revoked.values()];
    },
  };
}

/** Limits that a token gets from a caller that is narrower than the defaults. */
function inherited({ folders, mode, mayStartPrograms, mayRemember }: Caller): Partial<NewToken> {
  return {
    ...(folders === "any" ? {} : { folders }),
    ...(mode === "any" ? {} : { mode }),
    ...(mayStartPrograms ? {} : { mayStartPrograms }),
    ...(mayRemember ? {} : { mayRemember }),
  };
}

function withoutUndefined<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as T;
}
