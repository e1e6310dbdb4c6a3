/** Exports of a gateway that runs, to a bucket that checks signatures, and that fails. */
import { zstdDecompressSync } from "node:zlib"
import { afterAll, beforeEach, describe, expect, it } from "vitest"
import { testAwsKeys } from "../../../src/testing/index.ts"
import { checkSignature, startBucket } from "../../support/bucket.ts"
import { budgetCalls } from "../../support/budget-calls.ts"
import { eventually, useExports } from "../../support/use-exports.ts"

const bucket = await startBucket(checkSignature(testAwsKeys.accessKeyId, testAwsKeys.secretAccessKey, "eu-central-1"))
afterAll(() => bucket.stop())

const { ids, named, gateway, positions, spentRefs } = useExports(
  (named) => `  - id: ${named("bucket")}
    to: s3://weir-test/some/prefix
    region: eu-central-1
    endpoint: http://127.0.0.1:${bucket.port}
    credentials: { accessKeyId: "env:WEIR_TEST_AWS_ID", secretAccessKey: "env:WEIR_TEST_AWS_SECRET" }
    format: jsonl.zst
    every: 1s
    buckets: 1
`,
)
const { exchange } = budgetCalls(gateway)
beforeEach(() => {
  bucket.answer = () => 200
})

const linesOf = () => {
  const lines: Array<Record<string, unknown>> = []
  for (const [path, bytes] of bucket.objects) {
    if (!path.endsWith(".jsonl.zst")) continue
    const text = zstdDecompressSync(bytes).toString("utf8").trimEnd()
    lines.push(...text.split("\n").map((line) => JSON.parse(line)))
  }
  return lines.filter((line) => line["org_id"] === ids.org)
}

describe("exports to a bucket", { timeout: 240_000 }, () => {
  it("sign what they send to a bucket, and send it again under the same name when the bucket fails or its answer is lost", async () => {
    for (let n = 0; n < 20; n++) await exchange()
    await eventually(async () => linesOf().length >= 20)
    const failures = [0, 503, -1]
    bucket.answer = () => failures.shift() ?? 200
    for (let n = 0; n < 10; n++) await exchange()
    await eventually(async () => failures.length === 0 && linesOf().length >= 30, 60_000)
    await eventually(async () => (await positions()).every(({ failures }) => failures === 0), 30_000)
    const lines = linesOf()
    expect(lines.map(({ ref }) => ref).sort()).toEqual(await spentRefs())
    expect(bucket.refused).toEqual([])
    expect(bucket.written.length).toBeGreaterThan(new Set(bucket.written).size)
    expect([...bucket.objects.keys()].every((path) => path.startsWith("/weir-test/some/prefix/usage/v1/"))).toBe(true)
  })

  it("tell what is wrong without what the bucket answered", async () => {
    bucket.answer = () => 403
    await exchange()
    const isRefused = ({ problem }: { readonly problem: string | null }) => problem?.includes("403")
    await eventually(async () => (await positions()).some(isRefused))
    const failing = (await positions()).find(isRefused)
    expect(failing).toMatchObject({ export: named("bucket"), problem: "the bucket answered HTTP 403" })
  })
})
