import assert from "node:assert/strict";
import { test } from "node:test";
import {
  captureSettings,
  DEFAULT_CAPTURE_BYTES,
} from "../../../packages/gateway/src/capture/capture-settings.ts";

test("capturing is on within 256 MiB unless the configuration or the environment turns it off", () => {
  const maxBytes = DEFAULT_CAPTURE_BYTES;
  assert.equal(maxBytes, 268_435_456);
  assert.deepEqual(captureSettings({}, {}), { maxBytes });
  assert.equal(captureSettings({ gateway: { capture: false } }, {}), undefined);
  assert.equal(captureSettings({}, { PAGURUS_CAPTURE: "0" }), undefined);
  assert.equal(captureSettings({ gateway: { capture: false } }, { PAGURUS_CAPTURE: "" }), undefined);
  assert.deepEqual(captureSettings({}, { PAGURUS_CAPTURE: "" }), { maxBytes });
  assert.equal(captureSettings({ gateway: { capture: true } }, { PAGURUS_CAPTURE: "0" }), undefined);
  assert.deepEqual(captureSettings({ gateway: { capture: true } }, {}), { maxBytes });
  assert.deepEqual(captureSettings({ gateway: { capture: false } }, { PAGURUS_CAPTURE: "1" }), { maxBytes });
  assert.deepEqual(captureSettings({ gateway: { capture: false } }, {}, true), { maxBytes });
  assert.deepEqual(captureSettings({ gateway: { capture: { maxBytes: 5, keep: 2 } } }, {}), {
    maxBytes: 5,
    keep: 2,
  });
  assert.deepEqual(captureSettings({ gateway: { capture: { keep: 2 } } }, { PAGURUS_CAPTURE: "1" }), {
    maxBytes,
    keep: 2,
  });
});
