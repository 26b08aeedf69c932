import assert from "node:assert/strict";
import { test } from "node:test";
import {
  captureSettings,
  DEFAULT_CAPTURE_BYTES,
} from "../../../packages/gateway/src/capture/capture-settings.ts";

test("capturing is off until the configuration, the environment or a command asks for it", () => {
  const maxBytes = DEFAULT_CAPTURE_BYTES;
  assert.equal(maxBytes, 268_435_456);
  assert.equal(captureSettings({}, {}), undefined);
  assert.equal(captureSettings({ gateway: { capture: false } }, {}), undefined);
  assert.equal(captureSettings({}, { PAGURUS_CAPTURE: "" }), undefined);
  assert.equal(captureSettings({ gateway: { capture: true } }, { PAGURUS_CAPTURE: "0" }), undefined);
  assert.deepEqual(captureSettings({ gateway: { capture: true } }, {}), { maxBytes });
  assert.deepEqual(captureSettings({}, { PAGURUS_CAPTURE: "1" }), { maxBytes });
  assert.deepEqual(captureSettings({}, {}, true), { maxBytes });
  assert.deepEqual(captureSettings({ gateway: { capture: { maxBytes: 5, keep: 2 } } }, {}), {
    maxBytes: 5,
    keep: 2,
  });
  assert.deepEqual(captureSettings({ gateway: { capture: { keep: 2 } } }, { PAGURUS_CAPTURE: "1" }), {
    maxBytes,
    keep: 2,
  });
});
