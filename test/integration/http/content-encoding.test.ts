/** Compressed bodies: decoded within the limit, refused where they are not what they say. RFC 9110 section 8.4. */
import { createHash, createHmac, randomUUID } from "node:crypto"
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib"
import { describe, expect, it } from "vitest"
import { hello } from "../../../src/testing/index.ts"
import { errorOf, replyOf, useGateway } from "../../support/gateway.ts"

const maxBytes = 64 * 1024
const gateway = useGateway({ config: { bodyMaxBytes: maxBytes, authPerMinute: 1_000_000 } })

const post = (path: string, body: Uint8Array, encoding: string, headers: Record<string, string> = {}) =>
  fetch(`${gateway().baseUrl}${path}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "content-encoding": encoding,
      "x-svc-key-id": gateway().keyId,
      "x-svc-key": gateway().key,
      ...headers,
    },
    body,
  })
const json = Buffer.from(JSON.stringify(hello))
const bomb = Buffer.from(" ".repeat(8 * 1024 * 1024))

describe.each([
  ["gzip", gzipSync],
  ["br", brotliCompressSync],
  ["zstd", zstdCompressSync],
] as const)("%s", (encoding, compress) => {
  it("is decoded, on the hot routes and behind the router", async () => {
    expect((await replyOf(await post("/t1/exchange", compress(json), encoding))).stop).toBe("end")
    const handshake = await post("/t1/handshake", compress(Buffer.from('{"protocols":["twp/1"]}')), encoding)
    expect(handshake.status).toBe(200)
  })

  it("a small body that becomes a large one is payload_too_large", async () => {
    const small = compress(bomb)
    expect(small.length).toBeLessThan(maxBytes)
    for (const path of ["/t1/exchange", "/t1/handshake"]) {
      expect(await errorOf(await post(path, small, encoding))).toMatchObject({ status: 413, code: "payload_too_large" })
    }
  })

  it("a body that does not match its encoding is bad_request", async () => {
    for (const body of [json, compress(json).subarray(0, 20)]) {
      expect(await errorOf(await post("/t1/exchange", body, encoding))).toMatchObject({ status: 400 })
    }
  })
})

it("identity is no encoding; names are case-insensitive", async () => {
  expect((await post("/t1/exchange", json, "identity")).status).toBe(200)
  expect((await post("/t1/exchange", gzipSync(json), "GZIP")).status).toBe(200)
})

it.each(["deflate", "gzip, br", "compress", "nonsense"])("%s is refused", async (encoding) => {
  const refused = await errorOf(await post("/t1/exchange", deflateSync(json), encoding))
  expect(refused).toMatchObject({ status: 400, code: "bad_request" })
})

it("a signature covers the bytes that were sent", async () => {
  const body = gzipSync(json)
  const [ts, nonce] = [String(Math.floor(Date.now() / 1000)), randomUUID()]
  const key = createHash("sha256").update(gateway().key).digest()
  const hash = createHash("sha256").update(body).digest("hex")
  const parts = ["TWP1-HMAC-SHA256", "POST", "/t1/exchange", ts, nonce, hash]
  const sign = createHmac("sha256", key).update(parts.join("\n")).digest("hex")
  const signed = await post("/t1/exchange", body, "gzip", { "x-svc-ts": ts, "x-svc-nonce": nonce, "x-svc-sign": sign })
  expect(signed.status).toBe(200)
})

it("forms and control routes are decoded too", async () => {
  const response = await post("/v1/auth/device/code", gzipSync(Buffer.from('{"clientName":"c"}')), "gzip")
  expect(response.status).toBe(200)
})
