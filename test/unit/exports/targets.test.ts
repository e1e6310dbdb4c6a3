/** Buckets at Google and Azure, what they check, and catalogues that are refused. */
import { generateKeyPairSync } from "node:crypto"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { Effect, Layer, Result } from "effect"
import { afterAll, describe, expect, it } from "vitest"
import { readText } from "../../../src/catalogue/reading.ts"
import { makeSnapshot } from "../../../src/catalogue/snapshot.ts"
import { WeirConfig } from "../../../src/config.ts"
import { targetOf } from "../../../src/object-storage/target.ts"
import type { Export } from "../../../src/protocol/catalogue/export.ts"
import { VendorClient } from "../../../src/upstream/client.ts"
import { Egress } from "../../../src/upstream/egress.ts"
import { checkToken, startBucket } from "../../support/bucket.ts"
import { issuerAuthority, startEntra } from "../../support/issuer.ts"

const issuer = createServer((_request, response) => {
  response.setHeader("content-type", "application/json")
  response.end(JSON.stringify({ access_token: "the-token", expires_in: 3600, token_type: "Bearer" }))
})
await new Promise<void>((resolve) => issuer.listen(0, "127.0.0.1", resolve))
const issuerUrl = `http://127.0.0.1:${(issuer.address() as AddressInfo).port}`
const google = await startBucket(checkToken("the-token"))
const entra = await startEntra("the-secret")
const azure = await startBucket(checkToken("entra-1", { "x-ms-blob-type": "BlockBlob", "x-ms-version": "2023-11-03" }))
afterAll(() =>
  Promise.all([google.stop(), azure.stop(), entra.stop(), new Promise((resolve) => issuer.close(resolve))]),
)

const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 })
const secrets: Readonly<Record<string, string>> = {
  "env:GOOGLE": JSON.stringify({
    type: "service_account",
    client_email: "weir@example.com",
    private_key: privateKey.export({ type: "pkcs8", format: "pem" }),
    token_uri: `${issuerUrl}/token`,
  }),
  "env:AZURE": "the-secret",
}

const services = VendorClient.layer.pipe(
  Layer.provide(Egress.layer),
  Layer.provide(WeirConfig.layerWith({ httpsProxy: undefined })),
)
const put = (entry: Export, path: string, bytes: Uint8Array) => {
  const [place] = makeSnapshot({ version: 1, exports: [entry] }, 1n, "", (ref) => secrets[ref]).exports
  if (place === undefined) throw new Error("there is an export")
  return Effect.runPromise(
    Effect.flatMap(VendorClient, (client) => Effect.result(targetOf(place, client).put(path, bytes))).pipe(
      Effect.provide(services),
      Effect.scoped,
    ),
  )
}

describe("a bucket", () => {
  it("at Google is written to with a token of the service account", async () => {
    const entry: Export = {
      id: "g",
      to: "gs://bucket/a=b",
      endpoint: `http://127.0.0.1:${google.port}`,
      credentials: "env:GOOGLE",
      format: "parquet",
      every: 1000,
    }
    expect(Result.isSuccess(await put(entry, "usage/v1/x.parquet", Buffer.alloc(1_000_000, 7)))).toBe(true)
    expect(google.refused).toEqual([])
    expect(google.objects.get("/bucket/a=b/usage/v1/x.parquet")).toEqual(Buffer.alloc(1_000_000, 7))
  })

  it("at Azure is written to with a token of the application, for storage", async () => {
    const entry: Export = {
      id: "a",
      to: "az://account/container/a=b",
      endpoint: `http://127.0.0.1:${azure.port}`,
      credentials: { tenantId: "my-tenant", clientId: "exports", clientSecret: "env:AZURE", authorityHost: entra.url },
      tls: { ca: issuerAuthority },
      format: "jsonl.zst",
      every: 1000,
    }
    expect(await put(entry, "usage/v1/x.jsonl.zst", Buffer.alloc(1_000_000, 7))).toMatchObject({ _tag: "Success" })
    expect(azure.refused).toEqual([])
    expect(azure.objects.get("/container/a=b/usage/v1/x.jsonl.zst")).toEqual(Buffer.alloc(1_000_000, 7))
    expect(entra.forms()).toMatchObject([{ client_id: "exports", scope: "https://storage.azure.com/.default" }])
  })

  it("of which the gateway lacks the secret is told as that", async () => {
    const entry: Export = { id: "g", to: "gs://bucket", credentials: "env:NONE", format: "parquet", every: 1000 }
    const answer = await put(entry, "x", Buffer.from("x"))
    expect(Result.isFailure(answer) && answer.failure.problem).toBe(
      "a secret that the catalogue references is not set here",
    )
  })

  it("that cannot be reached is told as that", async () => {
    const entry: Export = {
      id: "g",
      to: "gs://bucket",
      endpoint: "http://127.0.0.1:9",
      credentials: "env:GOOGLE",
      format: "parquet",
      every: 1000,
    }
    const answer = await put(entry, "x", Buffer.from("x"))
    expect(Result.isFailure(answer) && answer.failure.problem).toBe("the bucket cannot be reached")
  })
})

describe("a folder", () => {
  it("that cannot be written is told with the system's code", async () => {
    const entry: Export = { id: "f", to: "file:///dev/null/none", format: "parquet", every: 1000 }
    const answer = await put(entry, "a/b", Buffer.from("x"))
    expect(Result.isFailure(answer) && answer.failure.problem).toMatch(/^the folder cannot be written: E[A-Z]+$/)
  })
})

describe("a catalogue", () => {
  const issuesOf = (entry: string) => {
    const read = readText(
      `version: 1\nexports: [{ id: e, format: parquet, every: ${/every: (\w+)/.exec(entry)?.[1] ?? "5m"}, ${entry.replace(/, every: \w+/, "")} }]`,
      new Uint8Array(),
    )
    return Result.isFailure(read) ? read.failure.map(({ message }) => message).join("; ") : "accepted"
  }
  it.each([
    ['to: "s3://bucket/p", region: eu-central-1, credentials: default', "accepted"],
    [
      'to: "s3://bucket/p", region: eu-central-1, credentials: { accessKeyId: "env:A", secretAccessKey: "env:B" }',
      "accepted",
    ],
    [
      'to: "s3://bucket", region: eu-central-1, credentials: { assumeRole: "arn:aws:iam::123456789012:role/x" }',
      "accepted",
    ],
    ['to: "gs://bucket/p", credentials: "env:JSON"', "accepted"],
    ['to: "az://account/container/p", credentials: { tenantId: t, clientId: c, clientSecret: "env:S" }', "accepted"],
    ['to: "file:///var/lib/exports"', "accepted"],
    ['to: "s3://bucket", credentials: default', "s3: needs a region and credentials"],
    ['to: "s3://bucket", region: eu-central-1', "s3: needs a region and credentials"],
    [
      'to: "s3://bucket", region: eu-central-1, credentials: { accessKeyId: "env:A" }',
      "accessKeyId and secretAccessKey belong together",
    ],
    ['to: "gs://bucket"', "gs: needs credentials"],
    ['to: "gs://bucket", region: eu-central-1, credentials: default', "gs: takes no region"],
    ['to: "az://a/b"', "is not s3://bucket/prefix"],
    ['to: "az://account/container", credentials: { tenantId: t }', "needs tenantId, clientId and clientSecret"],
    ['to: "file:///"', "file: needs a folder"],
    ['to: "file:///a", credentials: default', "file: takes no endpoint and no credentials"],
    ['to: "file:///a/../b"', "is not s3://bucket/prefix"],
    ['to: "file:///a/./b"', "is not s3://bucket/prefix"],
    ['to: "http://b"', "s3://bucket/prefix"],
    ['to: "file:///a", every: 1ms', "1s to 24h"],
    ['to: "file:///a", records: [usage, usage]', "without repetitions"],
    ['to: "file:///a", records: []', "not empty"],
    ['to: "file:///a", buckets: 0', "from 1 to 256"],
    ['to: "file:///a", secret: x', "not known here"],
  ])("with %s: %s", (entry, expected) => {
    expect(issuesOf(entry)).toContain(expected)
  })
})
