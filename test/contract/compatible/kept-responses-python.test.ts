/** OpenAI's SDK for Python, unchanged: kept responses and conversations, with vendors of four APIs. */
import { Schema } from "effect"
import { expect, it } from "vitest"
import { answering, newTestIds, testCatalogue } from "../../../src/testing/index.ts"
import { useGateway } from "../../support/gateway.ts"
import { python, runPython } from "./run-python.ts"

const ids = newTestIds()
const gateway = useGateway({
  ids,
  catalogue: (urls) => testCatalogue(urls, ids).replace("name: Test,", 'name: Test, keeps: { responses: "30d" },'),
  script: answering({ words: ["Hello", " ", "there"], inTokens: 10, outTokens: 5 }),
})

const Checked = Schema.fromJsonString(Schema.Array(Schema.String))

it.skipIf(python === undefined)(
  "OpenAI's SDK for Python continues, follows and erases kept responses",
  async () => {
    const env = { BASE_URL: gateway().baseUrl, API_KEY: `${gateway().keyId}~${gateway().key}` }
    const { code, out, errors } = await runPython("kept_responses.py", env)
    expect(errors).toBe("")
    expect(code).toBe(0)
    expect(Schema.decodeUnknownSync(Checked)(out).length).toBeGreaterThan(60)
  },
  60_000,
)
