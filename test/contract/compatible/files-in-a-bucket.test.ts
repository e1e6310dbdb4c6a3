/** Files of clients in a bucket that checks signatures, and that fails. */
import { randomBytes } from "node:crypto"
import OpenAI, { toFile } from "openai"
import { afterAll, beforeEach, expect, it } from "vitest"
import { partBytes } from "../../../src/client-files/file-parts.ts"
import { newTestIds, testAwsKeys, testCatalogue } from "../../../src/testing/index.ts"
import { checkSignature, startBucket } from "../../support/bucket.ts"
import { useGateway } from "../../support/gateway.ts"

const bucket = await startBucket(checkSignature(testAwsKeys.accessKeyId, testAwsKeys.secretAccessKey, "eu-central-1"))
afterAll(() => bucket.stop())
beforeEach(() => {
  bucket.answer = () => 200
})

const ids = newTestIds()
const gateway = useGateway({
  ids,
  catalogue: (urls) =>
    testCatalogue(
      urls,
      ids,
      `files:
  to: s3://weir-test/files
  region: eu-central-1
  endpoint: http://127.0.0.1:${bucket.port}
  credentials: { accessKeyId: "env:WEIR_TEST_AWS_ID", secretAccessKey: "env:WEIR_TEST_AWS_SECRET" }
`,
    ),
})
const files = () =>
  new OpenAI({ baseURL: `${gateway().baseUrl}/openai/v1`, apiKey: `${ids.key}~${gateway().key}`, maxRetries: 0 }).files

const bytes = randomBytes(2 * partBytes + 100)
const create = async () => files().create({ file: await toFile(bytes, "large.bin"), purpose: "user_data" })

it("are written in parts, read and erased", async () => {
  const { id } = await create()
  expect([...bucket.objects.keys()]).toEqual(
    [0, 1, 2].map((part) => `/weir-test/files/${ids.org}/${id.slice(5)}/${part}`),
  )
  expect(Buffer.from(await (await files().content(id)).arrayBuffer()).equals(bytes)).toBe(true)
  await files().delete(id)
  expect([bucket.objects.size, bucket.refused]).toEqual([0, []])
})

it("leave nothing where the bucket fails, and say that it may be tried again", async () => {
  bucket.answer = (path) => (path.endsWith("/1") ? 503 : 200)
  await expect(create()).rejects.toMatchObject({ status: 500, code: "internal_error" })
  expect([...bucket.objects.keys()].filter((path) => !path.endsWith("/1"))).toEqual([])
  expect((await files().list()).data).toEqual([])
})

it("are gone for their clients at once, also if the bucket does not answer", async () => {
  const { id } = await create()
  bucket.answer = () => -1
  await files().delete(id)
  await expect(files().retrieve(id)).rejects.toMatchObject({ status: 404 })
  expect(bucket.objects.size).toBe(3)
})

it("that cannot be read break off", async () => {
  const { id } = await create()
  bucket.answer = () => 403
  await expect((async () => (await files().content(id)).arrayBuffer())()).rejects.toThrow()
})
