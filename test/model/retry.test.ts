import assert from "node:assert/strict";
import { test } from "node:test";
import { PagurusError } from "../../packages/contract/src/errors.ts";
import type { AgentMessage } from "../../packages/contract/src/message.ts";
import { streamModel } from "../../packages/core/src/model/model-stream.ts";
import type { ModelPart, ModelRequest, ResolvedModel } from "../../packages/core/src/model/provider-types.ts";
import { errorBody } from "../servers/errors.ts";
import { startServer, type ReplyScript, type ReplyStep } from "../servers/server.ts";
import { collect, KEY, modelAt, PROTOCOLS, requestOf, textOf, withServer } from "./calling.ts";

/** Streams until it throws; returns the error and the parts before it. */
async function failing(
  model: ResolvedModel,
  request: Partial<ModelRequest> = {},
): Promise<{ error: PagurusError; parts: ModelPart[] }> {
  const parts: ModelPart[] = [];
  try {
    for await (const part of streamModel(model, requestOf(request))) parts.push(part);
  } catch (error) {
    assert.ok(error instanceof PagurusError, String(error));
    return { error, parts };
  }
  throw new Error("the call was expected to fail");
}

function retries(parts: readonly ModelPart[]): Extract<ModelPart, { type: "retry" }>[] {
  return parts.filter((part) => part.type === "retry");
}

const UNKNOWN_MODEL = {
  "openai-responses": "The model `m-1` does not exist or you do not have access to it.",
  "openai-completions": 'model "m-1" not found, try pulling it first',
  "anthropic-messages": "model: m-1",
  google: "models/m-1 is not found for API version v1beta, or is not supported for generateContent.",
};
const QUESTION: AgentMessage[] = [{ role: "user", content: "Hello" }];
const ANSWER: AgentMessage = {
  role: "toolResult",
  toolCallId: "call_1",
  toolName: "read",
  content: [{ type: "text", text: "The arguments were not a valid JSON object." }],
  isError: true,
};
const LONG: ReplyStep = {
  text: "This answer is long enough to arrive in several pieces, and so long that it is cut before any of its ends.",
};

for (const protocol of PROTOCOLS) {
  test(`${protocol}: 429 twice, then success`, async () => {
    await withServer(protocol, [{ status: 429 }, { status: 429 }, LONG], async ({ server, call }) => {
      const { parts, message } = await call({});
      assert.equal(textOf(message), LONG.text);
      assert.deepEqual(
        retries(parts).map(({ attempt }) => attempt),
        [1, 2],
      );
      assert.equal(server.requests.length, 3);
      assert.equal(server.requests[0]?.text, server.requests[2]?.text);
    });
  });

  test(`${protocol}: a server error (503, 529) is retried until the attempts run out`, async () => {
    const script: ReplyScript = (_request, index) => ({ status: index % 2 === 0 ? 503 : 529 });
    await withServer(protocol, script, async ({ server, model }) => {
      const { error, parts } = await failing(model, { retry: { attempts: 3, baseMs: 1 } });
      assert.equal(error.code, "model_unavailable");
      assert.equal(error.details["status"], 503);
      assert.equal(retries(parts).length, 2);
      assert.equal(server.requests.length, 3);
    });
  });

  test(`${protocol}: a stream that is cut is repeated from its start, and the partial answer is void`, async () => {
    await withServer(protocol, [{ ...LONG, cutAfterChunks: 5 }, { text: "Whole." }], async ({ call }) => {
      const { parts, message } = await call({});
      assert.equal(retries(parts).length, 1);
      const after = parts.slice(parts.findIndex((part) => part.type === "retry") + 1);
      assert.equal(after.map((part) => (part.type === "text" ? part.delta : "")).join(""), "Whole.");
      assert.equal(textOf(message), "Whole.");
    });
  });

  test(`${protocol}: a stream that ends without its end event is a cut stream`, async () => {
    await withServer(protocol, [{ ...LONG, omitEnd: true }, { text: "Whole." }], async ({ call }) => {
      const { parts, message } = await call({});
      assert.equal(retries(parts).length, 1);
      assert.equal(textOf(message), "Whole.");
    });
  });

  test(`${protocol}: a stream that is always cut ends in model_stream_cut`, async () => {
    await withServer(
      protocol,
      () => ({ ...LONG, cutAfterChunks: 4 }),
      async ({ server, model }) => {
        const { error } = await failing(model, { retry: { attempts: 3, baseMs: 1 } });
        assert.equal(error.code, "model_stream_cut");
        assert.equal(server.requests.length, 3);
      },
    );
  });

  test(`${protocol}: an error event in the stream is retried`, async () => {
    const broken: ReplyStep = { ...LONG, errorEvent: { code: "server_error", message: "Try again" } };
    await withServer(protocol, [broken, { text: "Whole." }], async ({ call }) => {
      const { parts, message } = await call({});
      assert.equal(retries(parts).length, 1);
      assert.equal(textOf(message), "Whole.");
    });
  });

  test(`${protocol}: an event that is no JSON is left out, and the answer names it`, async () => {
    await withServer(
      protocol,
      () => ({ ...LONG, malformed: true }),
      async ({ server, call }) => {
        const { parts, message } = await call({});
        assert.equal(textOf(message), LONG.text);
        const last = parts.at(-1);
        assert.deepEqual(last?.type === "finish" && last.degraded, ["an event that is no JSON"]);
        assert.equal(server.requests.length, 1);
      },
    );
  });

  test(`${protocol}: refused credentials are not retried, and the error names the origin of the key`, async () => {
    for (const status of [401, 403]) {
      await withServer(protocol, [{ status }], async ({ server, model }) => {
        const { error } = await failing(model);
        assert.equal(error.code, "model_auth");
        assert.match(error.message, /models\.providers\.local\.apiKey/);
        assert.equal(server.requests.length, 1);
      });
    }
  });

  test(`${protocol}: another 4xx is model_bad_request with the server's message, at once`, async () => {
    await withServer(protocol, [{ status: 422 }], async ({ server, model }) => {
      const { error, parts } = await failing(model);
      assert.equal(error.code, "model_bad_request");
      assert.match(error.message, /scripted status 422/);
      assert.equal(parts.length, 0);
      assert.equal(server.requests.length, 1);
    });
  });

  test(`${protocol}: a model that the provider does not have is model_unknown with the nearest names, at once`, async () => {
    const models = ["m-1", "m-12", "other"].map((id) => ({ id }));
    const step: ReplyStep = { status: 404, errorBody: errorBody(protocol, 404, UNKNOWN_MODEL[protocol]) };
    await withServer(
      protocol,
      [step],
      async ({ server, model }) => {
        const { error } = await failing(model);
        assert.equal(error.code, "model_unknown");
        assert.match(
          error.message,
          /does not have the model "m-1" \(HTTP 404\).*mean local\/m-12\?.*--model/,
        );
        assert.equal(server.requests.length, 1);
      },
      { provider: { models } },
    );
  });

  test(`${protocol}: a 404 of a wrong address names the key to check`, async () => {
    const step: ReplyStep = { status: 404, errorBody: "<html>Not Found</html>" };
    await withServer(protocol, [step], async ({ model }) => {
      const { error } = await failing(model);
      assert.equal(error.code, "model_bad_request");
      assert.match(error.message, /models\.providers\.local\.baseUrl/);
    });
  });

  test(`${protocol}: an answer that the safety filter ended is model_refused`, async () => {
    await withServer(protocol, [{ text: "I", stop: "refused" }], async ({ server, model }) => {
      const { error } = await failing(model);
      assert.equal(error.code, "model_refused");
      assert.equal(server.requests.length, 1);
    });
  });

  test(`${protocol}: an abort in the middle of the stream closes the socket and throws turn_aborted`, async () => {
    await withServer(protocol, [{ ...LONG, hangAfterChunks: 5 }], async ({ server, model }) => {
      const controller = new AbortController();
      const left = server.clientClosed();
      const { error } = await abortAtFirstText(model, controller);
      assert.equal(error.code, "turn_aborted");
      assert.equal((await left).request, 0);
      assert.equal(server.requests.length, 1);
    });
  });

  test(`${protocol}: leaving the loop closes the socket`, async () => {
    await withServer(protocol, [{ ...LONG, hangAfterChunks: 5 }], async ({ server, model }) => {
      const left = server.clientClosed();
      for await (const part of streamModel(model, requestOf({}))) {
        if (part.type === "text") break;
      }
      assert.equal((await left).request, 0);
    });
  });

  test(`${protocol}: silence in the middle of an answer is a cut stream, retried once`, async () => {
    await withServer(
      protocol,
      () => ({ ...LONG, hangAfterChunks: 5 }),
      async ({ server, model }) => {
        const { error, parts } = await failing(model, { limits: { silenceMs: 40 } });
        assert.equal(error.code, "model_stream_cut");
        assert.match(error.message, /nothing came/);
        assert.equal(retries(parts).length, 1);
        assert.equal((await server.clientClosed()).request, 0);
      },
    );
  });
}

async function abortAtFirstText(
  model: ResolvedModel,
  controller: AbortController,
): Promise<{ error: PagurusError }> {
  try {
    for await (const part of streamModel(model, requestOf({ signal: controller.signal }))) {
      if (part.type === "text") controller.abort();
    }
  } catch (error) {
    assert.ok(error instanceof PagurusError);
    return { error };
  }
  throw new Error("the call was expected to fail");
}

test("retry-after is honoured beyond our own maximum backoff (finding A9)", async () => {
  const cases: [Record<string, string>, number][] = [
    [{ "retry-after": "0.02" }, 20],
    [{ "retry-after-ms": "25" }, 25],
    [{ "retry-after": "0.2" }, 200],
    [{ "retry-after": "Wed, 21 Oct 2015 07:28:00 GMT" }, 1],
  ];
  for (const [headers, expected] of cases) {
    await withServer("openai-completions", [{ status: 429, headers }, LONG], async ({ call }) => {
      const { parts } = await call({ retry: { baseMs: 1, maxMs: 10 } });
      const [retry] = retries(parts);
      assert.equal(retry?.delayMs, expected, JSON.stringify(headers));
    });
  }
});

test("pauses double up to the limit, and are the same for the same session", async () => {
  const delays = async (cacheKey: string): Promise<number[]> => {
    let found: number[] = [];
    await withServer(
      "anthropic-messages",
      () => ({ status: 500 }),
      async ({ model }) => {
        const retry = { attempts: 6, baseMs: 4, maxMs: 16 };
        found = retries((await failing(model, { retry, cacheKey })).parts).map(({ delayMs }) => delayMs);
      },
    );
    return found;
  };
  const first = await delays("session-1");
  assert.deepEqual(first, await delays("session-1"));
  for (const [index, nominal] of [4, 8, 16, 16, 16].entries()) {
    const delay = first[index] ?? 0;
    assert.ok(delay >= Math.floor(nominal * 0.75) && delay <= Math.ceil(nominal * 1.25), String(first));
  }
});

test("a quota that is used up is not retried", async () => {
  const error = {
    message: "You exceeded your current quota",
    type: "insufficient_quota",
    code: "insufficient_quota",
  };
  await withServer("openai-responses", [{ status: 429, errorBody: { error } }], async ({ server, model }) => {
    assert.equal((await failing(model)).error.code, "model_rate_limited");
    assert.equal(server.requests.length, 1);
  });
});

test("a retry-after past the limit of the retries fails at once, with the time of day (finding A9)", async () => {
  const headers = { "retry-after": "3600" };
  await withServer(
    "openai-completions",
    () => ({ status: 429, headers }),
    async ({ server, model }) => {
      const { error, parts } = await failing(model, { retry: { maxElapsedMs: 1_800_000 } });
      assert.equal(error.code, "model_rate_limited");
      assert.match(
        error.message,
        /wait until (\d{4}-\d\d-\d\d )?\d\d:\d\d \(3600 s\).*retry\.maxElapsedSeconds allows 1800 s/,
      );
      const until = new Date(String(error.details["retryAt"]));
      assert.ok(error.message.includes(`:${String(until.getMinutes()).padStart(2, "0")} (`), error.message);
      assert.equal(retries(parts).length, 0);
      assert.equal(server.requests.length, 1);
    },
  );
});

test("a retry-after beyond all dates keeps the server's error, with a year as the pause (finding A9)", async () => {
  const texts = ["retry-after", "retry-after-ms"].flatMap((name) =>
    ["1e19", "1e308"].map((text) => ({ [name]: text })),
  );
  for (const headers of texts) {
    await withServer("openai-completions", [{ status: 429, headers }], async ({ server, model }) => {
      const { error } = await failing(model, { retry: { maxElapsedMs: 1_800_000 } });
      assert.equal(error.code, "model_rate_limited", JSON.stringify(headers));
      assert.match(error.message, /\(31536000 s\)/);
      assert.ok(Date.parse(String(error.details["retryAt"])) > 0);
      assert.equal(server.requests.length, 1);
    });
  }
});

test("an error has what a fallback needs: its reason, the pause that was asked for, what limits the retries", async () => {
  const script = [{ status: 429, headers: { "retry-after": "60" } }];
  await withServer("openai-completions", script, async ({ model }) => {
    const { error } = await failing(model, {
      retry: { maxElapsedMs: 1_000, limit: "a model with a fallback" },
    });
    assert.match(error.message, /and a model with a fallback allows 1 s\.$/);
    assert.deepEqual([error.details["reason"], error.details["retryAfterMs"]], ["rate_limit", 60_000]);
  });
});

test("an answer that ends with an error is retried four times, whatever failed before it (finding A9)", async () => {
  for (const protocol of PROTOCOLS) {
    const broken: ReplyStep = { ...LONG, errorEvent: { code: "server_error", message: "Try again" } };
    const script: ReplyScript = (_request, index) => (index < 6 ? { status: 503 } : broken);
    await withServer(protocol, script, async ({ server, model }) => {
      const retry = { baseMs: 1, maxMs: 2, maxElapsedMs: 3_600_000, attempts: 20 };
      const { error } = await failing(model, { retry });
      assert.equal(error.code, "model_unavailable", protocol);
      assert.equal(server.requests.length, 6 + 5, protocol);
    });
  }
});

test("a failing server is retried until the time limit, not a number of times (finding A9)", async () => {
  for (const status of [500, 529]) {
    let left = 12;
    const script: ReplyScript = () => (left-- > 0 ? { status } : LONG);
    await withServer("anthropic-messages", script, async ({ call }) => {
      const { parts, message } = await call({ retry: { baseMs: 1, maxMs: 2, maxElapsedMs: 3_600_000 } });
      assert.equal(retries(parts).length, 12);
      assert.equal(textOf(message), LONG.text);
    });
    await withServer(
      "anthropic-messages",
      () => ({ status }),
      async ({ model }) => {
        const { error } = await failing(model, { retry: { baseMs: 1, maxMs: 8, maxElapsedMs: 40 } });
        assert.equal(error.code, "model_unavailable");
        assert.match(
          error.message,
          /\d+ calls? failed, and agents\.defaults\.retry\.maxElapsedSeconds allows 1 s/,
        );
      },
    );
  }
});

test("an endless 429 ends in model_rate_limited", async () => {
  await withServer(
    "google",
    () => ({ status: 429 }),
    async ({ server, model }) => {
      assert.equal((await failing(model)).error.code, "model_rate_limited");
      assert.equal(server.requests.length, 5);
    },
  );
});

test("an endpoint without a listener is model_unavailable, and the error names the address", async () => {
  const server = await startServer({ protocol: "openai-completions", script: [] });
  await server.close();
  const { error, parts } = await failing(modelAt(server.url, "openai-completions"));
  assert.equal(error.code, "model_unavailable");
  assert.ok(error.message.includes(`${server.url} `), error.message);
  assert.match(error.message, /ECONNREFUSED/);
  assert.equal(retries(parts).length, 2);
});

test("an abort during a pause ends the wait (finding A9)", async () => {
  await withServer(
    "openai-completions",
    () => ({ status: 503 }),
    async ({ model }) => {
      const controller = new AbortController();
      const retry = { baseMs: 3_600_000, maxMs: 3_600_000, maxElapsedMs: 7_200_000 };
      const parts = streamModel(model, requestOf({ signal: controller.signal, retry }));
      assert.equal((await parts.next()).value?.type, "retry");
      const next = parts.next();
      controller.abort();
      await assert.rejects(next, { code: "turn_aborted" });
    },
  );
});

test("a call with an aborted signal never reaches the server", async () => {
  await withServer("openai-completions", [LONG], async ({ server, model }) => {
    const { error } = await failing(model, { signal: AbortSignal.abort() });
    assert.equal(error.code, "turn_aborted");
    assert.equal(server.requests.length, 0);
  });
});

test("an answer that pauses, but less than the limit, is complete", async () => {
  await withServer("anthropic-messages", [{ ...LONG, delayMs: 5 }], async ({ model }) => {
    assert.equal(textOf((await collect(model, { limits: { silenceMs: 2_000 } })).message), LONG.text);
  });
});

test("tool arguments that are not JSON are requested once more", async () => {
  const toolCalls = [{ id: "call_1", name: "read", arguments: {} }];
  const script: ReplyStep[] = [{ toolCalls, rawArguments: "{path: }" }, { text: "Whole." }];
  await withServer("openai-completions", script, async ({ call }) => {
    const { parts, message } = await call({});
    assert.equal(retries(parts).length, 1);
    assert.equal(textOf(message), "Whole.");
  });
});

// Google sends the arguments of a call as an object, so they are never broken.
for (const protocol of PROTOCOLS.filter((name) => name !== "google")) {
  for (const rawArguments of ["{path: }", '["a.txt"]']) {
    test(`${protocol}: arguments that stay ${rawArguments} are passed on, and sent back as valid JSON`, async () => {
      const toolCalls = [{ id: "call_1", name: "read", arguments: {} }];
      const broken: ReplyStep = { toolCalls, rawArguments };
      await withServer(protocol, [broken, broken, { text: "Whole." }], async ({ server, call }) => {
        const { parts, message } = await call({});
        assert.equal(retries(parts).length, 1);
        assert.equal(message.stopReason, "toolUse");
        const [part] = message.content;
        assert.deepEqual(part?.type === "toolCall" && part.arguments, { __invalid_json: rawArguments });
        await call({ messages: [...QUESTION, message, ANSWER] });
        const sent = JSON.stringify(server.requests[2]?.body).replaceAll("\\", "");
        assert.ok(sent.includes(`{"__invalid_json":"${rawArguments}"}`), sent);
      });
    });
  }
}

test("google: arguments that another provider's model broke are sent as an object", async () => {
  await withServer("google", [{ text: "Whole." }], async ({ server, call }) => {
    const content = [
      { type: "toolCall" as const, id: "call_1", name: "read", arguments: { __invalid_json: "{path: }" } },
    ];
    await call({ messages: [...QUESTION, { role: "assistant", content }, ANSWER] });
    assert.match(server.requests[0]?.text ?? "", /"args":\{"__invalid_json":"\{path: \}"\}/);
  });
});

test("a broken call in the last attempt is passed on, however the attempts before it failed", async () => {
  const toolCalls = [{ id: "call_1", name: "read", arguments: {} }];
  const script: ReplyStep[] = [{ status: 503 }, { toolCalls, rawArguments: "{" }];
  await withServer("openai-completions", script, async ({ call }) => {
    const { message } = await call({ retry: { attempts: 2, baseMs: 1 } });
    assert.equal(message.content[0]?.type, "toolCall");
  });
});

test("the key is sent in the protocol's header and appears in no error, whatever the server echoes", async () => {
  const headers = { "x-extra": "extra-secret-value" };
  const message = `Incorrect API key provided: ${KEY}, with Bearer ${KEY} and extra-secret-value and sk-proj-other12345`;
  for (const protocol of PROTOCOLS) {
    for (const status of [400, 401, 404, 429, 500]) {
      const script: ReplyScript = () => ({
        status,
        errorBody: { error: { message, type: "x" }, type: "error" },
      });
      await withServer(
        protocol,
        script,
        async ({ server, model }) => {
          const { error, parts } = await failing(model, { retry: { attempts: 2, baseMs: 1 } });
          assert.ok(JSON.stringify(server.requests[0]?.headers).includes(KEY));
          const everything = `${JSON.stringify(parts)} ${error.message} ${JSON.stringify(error.details)} ${error.stack} ${String(error.cause)}`;
          assert.doesNotMatch(everything, /sk-live|sk-proj|extra-secret/);
          assert.equal(error.cause, undefined);
        },
        { provider: { headers } },
      );
    }
  }
});
