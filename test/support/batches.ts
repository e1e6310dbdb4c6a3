/** A gateway for tests of batches, with the SDKs of their APIs, and what its books say. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import Anthropic from "@anthropic-ai/sdk"
import { GoogleGenAI } from "@google/genai"
import { Effect } from "effect"
import OpenAI, { toFile } from "openai"
import { afterAll } from "vitest"
import { inEach } from "../../src/store/shards/shards.ts"
import type { GatewayOptions } from "../../src/testing/gateway.ts"
import { newTestIds, type TestIds, testCatalogue } from "../../src/testing/index.ts"
import { useGateway } from "./gateway.ts"

export const useBatches = (
  change: (text: string, ids: TestIds) => string = (text) => text,
  config: GatewayOptions["config"] = {},
) => {
  const ids = newTestIds()
  const folder = mkdtempSync(join(tmpdir(), "weir-batches-"))
  afterAll(() => rmSync(folder, { recursive: true }))
  const gateway = useGateway({
    ids,
    config,
    catalogue: (urls) =>
      change(
        testCatalogue(urls, ids, `files: { to: "file://${folder}" }\n`)
          .replace("apps:\n", `apps:\n  - { id: ${ids.app}-other, org: ${ids.org} }\n`)
          .replace(
            "keys:\n",
            `keys:\n  - { id: ${ids.key}other, app: ${ids.app}-other, secret: "env:WEIR_TEST_KEY" }\n`,
          ),
        ids,
      ),
  })
  const key = (of: string) => `${ids.key}${of}~${gateway().key}`
  const openai = (of = "") => new OpenAI({ baseURL: `${gateway().baseUrl}/openai/v1`, apiKey: key(of), maxRetries: 0 })
  const upload = async (lines: ReadonlyArray<object | string>, of = "") => {
    const text = lines.map((each) => (typeof each === "string" ? each : JSON.stringify(each))).join("\n")
    return (await openai(of).files.create({ file: await toFile(Buffer.from(text), "lines.jsonl"), purpose: "batch" }))
      .id
  }
  return {
    ids,
    gateway,
    /** Loses the content of all files of the organisation. */
    loseFiles: () => rmSync(join(folder, ids.org), { recursive: true }),
    openai,
    anthropic: (of = "") =>
      new Anthropic({ baseURL: `${gateway().baseUrl}/anthropic`, apiKey: key(of), maxRetries: 0 }),
    gemini: (of = "") => new GoogleGenAI({ apiKey: key(of), httpOptions: { baseUrl: `${gateway().baseUrl}/gemini` } }),
    upload,
    create: async (lines: ReadonlyArray<object | string>, more: Partial<OpenAI.BatchCreateParams> = {}) =>
      openai().batches.create({
        input_file_id: await upload(lines),
        endpoint: "/v1/chat/completions",
        completion_window: "24h",
        ...more,
      }),
    ended: async (id: string, looks = () => {}) => {
      for (;;) {
        looks()
        const batch = await openai().batches.retrieve(id)
        if (["completed", "failed", "expired", "cancelled"].includes(batch.status)) return batch
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    },
    linesOf: async (file: string | null | undefined) =>
      file == null
        ? []
        : (await (await openai().files.content(file)).text())
            .trimEnd()
            .split("\n")
            .map((text): OpenaiLine => JSON.parse(text)),
    /** The usage records of the requests of a batch, and the findings of a check of the books. */
    books: async (id: string) => {
      const { sql, shards } = gateway()
      const batch = id.replace(/^(batch_|msgbatch_|batches\/)/, "")
      return Effect.runPromise(
        Effect.gen(function* () {
          const records = yield* sql<{ cost: string; request_id: string; tags: object | null }>`
            select cost::text, request_id, tags from usage_records where batch_id = ${batch}`
          const findings = yield* inEach(
            shards,
            ({ sql, books }) =>
              sql<{ finding: string; id: string }>`select finding, id from ${books}ledger_audit('', null)`,
          )
          const accounts = yield* sql<{ amount: string }>`
            select sum(case when credit_account = ${`batch:${batch}`} then amount else -amount end)::text as amount
            from transfers where debit_account = ${`batch:${batch}`} or credit_account = ${`batch:${batch}`}`
          return {
            records,
            findings: findings.filter(({ id }) => id.includes(ids.org) || id.includes(batch)),
            left: Number(accounts[0]?.amount ?? 0),
          }
        }),
      )
    },
  }
}

interface OpenaiLine {
  readonly custom_id: string
  readonly response: { readonly status_code: number; readonly body: Record<string, unknown> } | null
  readonly error: { readonly code: string } | null
}

/** A line of OpenAI's API. */
export const chatLine = (name: string, content = "Hi", body: object = {}) => ({
  custom_id: name,
  method: "POST",
  url: "/v1/chat/completions",
  body: { model: "main", max_tokens: 50, messages: [{ role: "user", content }], ...body },
})
